// SPDX-License-Identifier: BSD-3-Clause
// The bodies of short collectives that a thread waits for. Each has that of the algorithm which the rules choose for it
// (table.cpp).
#pragma once

#include <cstdint>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/short/binomial_broadcast.hpp"
#include "coll/algorithms/short/dissemination_barrier.hpp"
#include "coll/algorithms/short/linear_allreduce.hpp"
#include "coll/algorithms/short/linear_barrier.hpp"
#include "coll/algorithms/short/linear_broadcast.hpp"
#include "coll/algorithms/short/recursive_doubling_allreduce.hpp"
#include "coll/algorithms/short/short_messages.hpp"
#include "coll/args/collective_args.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

/// Whether a collective has a body.
[[nodiscard]] inline bool has_short_body(const collective_args& args) noexcept {
  if (args.nodes != nullptr) return false;
  switch (args.operation) {
    case operation::barrier: return true;
    case operation::broadcast:
    case operation::allreduce: return args.block_bytes <= short_bytes_max && args.block_bytes != 0;
    default: return false;
  }
}

/// Runs the body of a collective that has one. `source`: `Messages` are made of it. `from`: the input, which may be
/// `into`.
template <short_messages Messages, class Source>
void run_short_body(Source& source, const collective_args& args, const void* from, void* into,
                    const reduction& reduction) {
  const bool is_linear = args.is_oversubscribed && args.size <= linear_members_max;
  if (args.operation == operation::barrier)
    return is_linear ? short_linear_barrier<Messages>(source, args)
                     : short_dissemination_barrier<Messages>(source, args);
  if (args.operation == operation::broadcast) {
    return is_linear ? short_linear_broadcast<Messages>(source, args, from, into)
                     : short_binomial_broadcast<Messages>(source, args, from, into);
  }
  return is_linear ? short_linear_allreduce<Messages>(source, args, from, into, reduction)
                   : short_recursive_doubling_allreduce<Messages>(source, args, from, into, reduction);
}

}  // namespace weft::coll
