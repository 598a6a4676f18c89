// SPDX-License-Identifier: BSD-3-Clause
// The implementation of a matching engine.
#pragma once

#include <cstdint>
#include <memory>

#include "base/callback_scope.hpp"
#include "base/log.hpp"
#include "core/matching/match_node.hpp"
#include "core/matching/order_credits.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/matching/ordered_numbers.hpp"
#include "weft/matching_engine.hpp"

namespace weft::core {

class runtime_state;

enum class engine_kind : std::uint8_t {
  by_policy,  ///< unordered, and so is the next one
  by_key,     ///< matches by the user's key
  ordered,
  receiver_first,
};

[[nodiscard]] constexpr engine_kind kind_of(const matching_engine_options& options) noexcept {
  if (options.receiver_first) return engine_kind::receiver_first;
  if (options.ordered) return engine_kind::ordered;
  return options.make_key != nullptr ? engine_kind::by_key : engine_kind::by_policy;
}

struct engine_state {
  /// `runtime`: the runtime that has made it; for the default engine null, as no post names that by an object.
  /// `order_step`: in which it counts what it puts in order (order_credits.hpp).
  engine_state(std::uint32_t name, const matching_engine_options& options, std::uint32_t rank_count,
               const runtime_state* runtime = nullptr, std::uint32_t order_step = 1)
      : id{name},
        kind{kind_of(options)},
        receiver_first{options.receiver_first},
        home{runtime},
        home_of_simple{kind == engine_kind::by_policy ? runtime : nullptr},
        make_key{options.make_key} {
    if (!options.ordered && !options.receiver_first) return;
    ordered = std::make_unique<ordered_matching>(rank_count, first_order_number, order_step);
    numbers = ordered_numbers{rank_count, first_order_number};
  }

  /// Whether arriving messages are numbered: sends, or RTRs in a receiver-first engine.
  [[nodiscard]] bool is_ordered() const noexcept { return ordered != nullptr; }
  [[nodiscard]] bool counts_in_steps() const noexcept { return is_ordered() && ordered->step() != 1; }

  /// The key under which a message from `rank` meets a receive that names it.
  [[nodiscard]] match_key key_of(match_policy policy, std::uint32_t rank, std::uint64_t tag) const noexcept {
    if (make_key == nullptr) return make_match_key(id, policy, rank, tag);
    const base::callback_scope function_runs;
    return make_match_key(id, user_policy, rank, make_key(rank, tag));
  }

  std::uint32_t id;
  engine_kind kind;
  bool receiver_first;
  const runtime_state* home;
  const runtime_state* home_of_simple;  // `home` where the kind is `by_policy`, else null: one comparison tells both
  base::said_once told_of_kind;         // warns that a peer's engine of this id is of another kind
  match_key_function make_key;
  std::unique_ptr<ordered_matching> ordered;  // null: the engine uses the runtime's matching table
  ordered_numbers numbers;                    // numbers of messages sent; in a receiver-first engine of receives posted
};

}  // namespace weft::core
