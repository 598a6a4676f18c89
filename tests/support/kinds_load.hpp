// SPDX-License-Identifier: BSD-3-Clause
// Every operation that takes buffers, between every two kinds of memory, in all sizes at which protocols change.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "weft/weft.hpp"

namespace weft::test {

/// Which part of the grid of operations, kinds of memory and sizes.
struct kinds_load {
  /// Of the cells with 1 MiB + 1, one of so many; of the others, all.
  unsigned long_one_in = 1;
  /// Of all cells, one of so many.
  unsigned one_in = 1;
  /// Chooses which.
  std::uint64_t seed = 0;
  /// Whether a kind knows its addresses: then no post takes the shortest path.
  bool knows_addresses = false;
};

/// Of a job of two ranks, which send to each other, or of one, which sends to itself. Each rank calls it with one
/// `load`. `fail` gets a text for each thing that is wrong.
void run_kinds(runtime& rt, const kinds_load& load, const std::function<void(const std::string&)>& fail);

}  // namespace weft::test
