// SPDX-License-Identifier: BSD-3-Clause
// The messages of binomial_broadcast.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "coll/algorithms/short/short_messages.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/schedule/ranks.hpp"

namespace weft::coll {

template <short_messages Messages, class Source>
void short_binomial_broadcast(Source& source, const collective_args& args, const void* from, void* into) {
  Messages all{source};
  const auto bytes = static_cast<std::size_t>(args.block_bytes);
  const std::uint32_t mine = relative_rank(args);
  const std::uint32_t lowest = mine == 0 ? std::bit_ceil(args.size) : mine & -mine;
  if (mine != 0) {
    all.expect(rank_of_relative(args, mine - lowest), 0, into, bytes);
    all.wait();
    from = into;
  }
  for (std::uint32_t bit = lowest / 2; bit != 0; bit /= 2) {
    if (mine + bit < args.size) all.send(rank_of_relative(args, mine + bit), 0, from, bytes);
  }
  all.finish();
}

}  // namespace weft::coll
