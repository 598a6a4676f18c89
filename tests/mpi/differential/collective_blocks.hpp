// SPDX-License-Identifier: BSD-3-Clause
// Blocks of all ranks, and the data in them.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "scene.hpp"
#include "signature.hpp"

namespace differential {

/// Blocks of one unit, of several ranks, in one buffer of basic elements; `counts` in units.
struct blocks {
  std::vector<int> counts;
  std::vector<int> at;  // displacements, in units, in any order and with gaps
  int units = 0;
};

inline blocks draw_blocks(random_source& random, int ranks, bool equal) {
  blocks out;
  const int all = random.chance(10) ? random.between(500, 3000) : random.between(0, 12);
  for (int i = 0; i < ranks; ++i) out.counts.push_back(equal ? all : random.between(0, all));
  out.at.resize(out.counts.size());
  std::vector<std::size_t> order(out.counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!equal) random.shuffle(order);
  for (const std::size_t each : order) {
    out.at[each] = out.units;
    out.units += out.counts[each] + (equal ? 0 : random.between(0, 2));
  }
  return out;
}

inline signature draw_unit(scene& here) { return random_signature(here.random, here.random.between(0, 2)); }

/// Of this rank's layout.
inline std::uint64_t seed_of(scene& here) { return mix(here.random.next() + static_cast<std::uint64_t>(here.rank)); }

/// The data that rank `from` has for rank `to`.
inline std::uint64_t stream_of(std::uint64_t base, int from, int to) {
  return base + static_cast<std::uint64_t>(from) * 1000 + static_cast<std::uint64_t>(to);
}

}  // namespace differential
