// SPDX-License-Identifier: BSD-3-Clause
// Carries out the schedules of all ranks with real bytes, in an order by a seed, and compares the results with a
// sequential oracle.
//
// Some sends copy their bytes and are complete; the bytes of others are read when they are received. So an algorithm
// fails that writes into memory that it still sends from.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "coll/algorithms/table.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll::test {

/// The buffers of one rank.
struct rank_bytes {
  std::vector<std::byte> in;
  std::vector<std::byte> out;
};

/// Carries `all` out. **Returns** the fault; empty if all steps have run.
[[nodiscard]] std::string carry_out(std::span<const schedule> all, std::vector<rank_bytes>& bytes,
                                    std::mt19937& random);

/// How elements of two words are combined.
enum class operands : std::uint8_t {
  commute,        // added
  are_in_order,   // as affine maps, in the order of ranks, with any brackets
  have_brackets,  // the result depends on order and brackets, so that ranks are compared with rank 0 instead
};

/// Runs `which` for all ranks, with values by `random`, and compares. The elements of reductions that do not commute
/// are `are_in_order`. **Returns** the fault. `of` has the arguments of each rank, or is one for all ranks.
[[nodiscard]] std::string check(const algorithm& which, std::span<const collective_args> members, std::mt19937& random);
[[nodiscard]] std::string check(const algorithm& which, const collective_args& args, std::mt19937& random);
[[nodiscard]] std::string check(const algorithm& which, std::span<const collective_args> members, std::mt19937& random,
                                operands rule);

}  // namespace weft::coll::test
