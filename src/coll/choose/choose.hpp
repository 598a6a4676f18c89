// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a collective uses, and why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "coll/algorithms/table.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/schedule/algorithm.hpp"

namespace weft::coll {

enum class chosen_by : std::uint8_t {
  call,         // collective_options::algorithm
  setting,      // WEFT_COLL
  rule,         // a rule of algorithms/table.cpp
  restriction,  // no rule fits
};

struct choice {
  const coll::algorithm* algorithm = nullptr;
  chosen_by why = chosen_by::rule;
  /// The rule that fits; null if `why` is another.
  const rule* fitting = nullptr;
  /// The algorithm that WEFT_COLL names, if it can't do this.
  std::string_view unable = {};
};

/// `wanted`: the algorithm that the call names, or empty. `setting`: WEFT_COLL, or empty. All members of a group get
/// one answer. **Errors**: invalid_argument if `wanted` is unknown, or can't do this.
[[nodiscard]] choice choose(const collective_args& args, std::string_view wanted, std::string_view setting);

/// A text for people: `the rule for blocks of up to 65536 bytes`. **Errors**: std::bad_alloc.
[[nodiscard]] std::string reason_of(const choice& chosen);
/// A text for people: `allreduce of 8 bytes among 4 members`. **Errors**: std::bad_alloc.
[[nodiscard]] std::string text_of(const collective_args& args);

/// Member 0 logs the choice (debug), and the first one of each operation for which the setting's algorithm can't be
/// taken (warn). **Threads**: any.
void log_choice(const collective_args& args, const choice& chosen) noexcept;

}  // namespace weft::coll
