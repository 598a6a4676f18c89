// SPDX-License-Identifier: BSD-3-Clause
// The messages of linear_allreduce.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/short/short_messages.hpp"
#include "coll/args/collective_args.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

/// Member 0 waits for all others together, and combines in the order of ranks.
template <short_messages Messages, class Source>
void short_linear_allreduce(Source& source, const collective_args& args, const void* from, void* into,
                            const reduction& reduction) {
  constexpr std::uint32_t to_root = 0, from_root = 1;
  Messages all{source};
  const auto bytes = static_cast<std::size_t>(args.block_bytes);
  std::array<element_room, linear_members_max> room;
  if (args.rank != 0) {
    all.send(0, to_root, from, bytes);
    all.expect(0, from_root, into, bytes);
    all.wait();
    return all.finish();
  }
  for (std::uint32_t member = 1; member < args.size; ++member) all.expect(member, to_root, room[member].data(), bytes);
  std::memcpy(room[0].data(), from, bytes);
  all.wait();
  try {
    for (std::uint32_t member = 1; member < args.size && !all.has_failed(); ++member)
      reduction.combine(room[member - 1].data(), room[member].data(), bytes / reduction.element_bytes,
                        reduction.context);
  } catch (...) {
    all.fail(std::current_exception());
  }
  const void* const result = room[args.size - 1].data();
  for (std::uint32_t member = 1; member < args.size; ++member) all.send(member, from_root, result, bytes);
  all.finish();
  std::memcpy(into, result, bytes);
}

}  // namespace weft::coll
