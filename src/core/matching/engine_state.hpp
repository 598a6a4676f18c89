// The implementation of a matching engine.
#pragma once

#include <cstdint>
#include <memory>

#include "base/callback_scope.hpp"
#include "base/log.hpp"
#include "core/matching/match_node.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/matching/ordered_numbers.hpp"
#include "weft/matching_engine.hpp"

namespace weft::core {

struct engine_state {
  engine_state(std::uint32_t name, const matching_engine_options& options, std::uint32_t rank_count)
      : id{name}, receiver_first{options.receiver_first}, make_key{options.make_key} {
    if (!options.ordered && !options.receiver_first) return;
    ordered = std::make_unique<ordered_matching>(rank_count);
    numbers = std::make_unique<ordered_numbers>(rank_count);
  }

  /// Whether arriving messages are numbered: sends, or RTRs in a receiver-first engine.
  [[nodiscard]] bool is_ordered() const noexcept { return ordered != nullptr; }

  /// The key under which a message from `rank` meets a receive that names it.
  [[nodiscard]] match_key key_of(match_policy policy, std::uint32_t rank, std::uint64_t tag) const noexcept {
    if (make_key == nullptr) return make_match_key(id, policy, rank, tag);
    const base::callback_scope function_runs;
    return make_match_key(id, user_policy, rank, make_key(rank, tag));
  }

  std::uint32_t id;
  bool receiver_first;
  base::said_once told_of_kind;  // for the warning that a peer's engine of this id is of another kind
  match_key_function make_key;
  std::unique_ptr<ordered_matching> ordered;  // null: the engine uses the runtime's matching table
  std::unique_ptr<ordered_numbers> numbers;   // of messages sent; in a receiver-first engine of receives posted
};

}  // namespace weft::core
