// SPDX-License-Identifier: BSD-3-Clause
// The messages of linear_broadcast.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/algorithms/short/short_messages.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/schedule/ranks.hpp"

namespace weft::coll {

template <short_messages Messages, class Source>
void short_linear_broadcast(Source& source, const collective_args& args, const void* from, void* into) {
  Messages all{source};
  const auto bytes = static_cast<std::size_t>(args.block_bytes);
  if (args.rank != args.root) {
    all.expect(args.root, 0, into, bytes);
    all.wait();
    return all.finish();
  }
  for (std::uint32_t each = 1; each < args.size; ++each) all.send(rank_of_relative(args, each), 0, from, bytes);
  all.finish();
}

}  // namespace weft::coll
