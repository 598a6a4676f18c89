// SPDX-License-Identifier: BSD-3-Clause
// Goes through the schedules of all ranks without sending: counts rounds, messages and bytes, and finds schedules that
// don't fit together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coll/args/collective_args.hpp"
#include "coll/schedule/algorithm.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

/// The counts of a whole collective. In one round each rank may send one message and receive one, which the steps of
/// later rounds can use.
struct counts {
  std::uint32_t rounds = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;            // the sum over all messages
  std::uint64_t bytes_of_a_rank = 0;  // the most that one rank sends
  std::string wrong;                  // empty: all steps could run, and each message was received
};

/// `visit(rank, step index)` is called for each step in an order in which they may run: receives after the send of
/// their message, which `sender` names by rank and step index (of other steps: no rank).
struct ran_step {
  std::uint32_t rank = 0;
  std::uint32_t index = 0;
  std::uint32_t sender = step_ref::none;
  std::uint32_t sent_by = step_ref::none;
};

/// **Errors**: std::bad_alloc.
[[nodiscard]] counts count(std::span<const schedule> all, std::vector<ran_step>* order = nullptr);

/// Counts the schedules of an algorithm: `args.rank` does not matter. **Errors**: std::bad_alloc.
[[nodiscard]] counts count(const algorithm& algorithm, const collective_args& args);

}  // namespace weft::coll
