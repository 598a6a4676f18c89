// SPDX-License-Identifier: BSD-3-Clause
// The messages of dissemination_barrier.cpp.
#pragma once

#include <cstdint>

#include "coll/algorithms/short/short_messages.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/schedule/ranks.hpp"

namespace weft::coll {

template <short_messages Messages, class Source>
void short_dissemination_barrier(Source& source, const collective_args& args) {
  Messages all{source};
  const std::uint32_t rank = args.rank, size = args.size;
  for (std::uint32_t round = 0; round < doublings(size); ++round) {
    const std::uint32_t distance = 1U << round;
    all.send((rank + distance) % size, round, &no_bytes, 0);
    all.expect((rank + size - distance) % size, round, &no_bytes, 0);
    all.wait();
  }
  all.finish();
}

}  // namespace weft::coll
