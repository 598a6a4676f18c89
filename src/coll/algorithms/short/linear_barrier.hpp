// SPDX-License-Identifier: BSD-3-Clause
// The messages of linear_barrier.cpp.
#pragma once

#include <cstdint>

#include "coll/algorithms/short/short_messages.hpp"
#include "coll/args/collective_args.hpp"

namespace weft::coll {

/// Each of the others waits once for member 0, which waits for all of them together: for ranks that share cores.
template <short_messages Messages, class Source>
void short_linear_barrier(Source& source, const collective_args& args) {
  constexpr std::uint32_t to_root = 0, from_root = 1;
  Messages all{source};
  if (args.rank != 0) {
    all.send(0, to_root, &no_bytes, 0);
    all.expect(0, from_root, &no_bytes, 0);
    all.wait();
    return all.finish();
  }
  for (std::uint32_t member = 1; member < args.size; ++member) all.expect(member, to_root, &no_bytes, 0);
  all.wait();
  for (std::uint32_t member = 1; member < args.size; ++member) all.send(member, from_root, &no_bytes, 0);
  all.finish();
}

}  // namespace weft::coll
