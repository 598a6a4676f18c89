// The operations of a runtime: a set for each of the purposes of `operation_set`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/operation/pool.hpp"

namespace weft::core {

class operations {
 public:
  /// `posts`: also of arrivals.
  operations(const pool_bounds& posts, const pool_bounds& receives, state_budget& budget)
      : sets_{operation_pool{operation_set::posts, posts, budget},
              operation_pool{operation_set::arrivals, posts, budget},
              operation_pool{operation_set::receives, receives, budget},
              operation_pool{operation_set::late_receives, late_bounds, budget}} {}

  /// Bytes of the operations that there are from the beginning.
  [[nodiscard]] static constexpr std::uint64_t bytes_at_first(const pool_bounds& posts,
                                                              const pool_bounds& receives) noexcept {
    using pool = slab_pool<operation_state>;
    return 2 * pool::bytes_at_first(posts) + pool::bytes_at_first(receives) + pool::bytes_at_first(late_bounds);
  }

  [[nodiscard]] operation_pool& posts() noexcept { return of(operation_set::posts); }
  [[nodiscard]] operation_pool& arrivals() noexcept { return of(operation_set::arrivals); }
  [[nodiscard]] operation_pool& receives() noexcept { return of(operation_set::receives); }
  [[nodiscard]] operation_pool& late_receives() noexcept { return of(operation_set::late_receives); }
  void put(operation_state& done) noexcept { of(done.set()).put(done); }

  /// The operation, of any set, that `peer` names by `ticket`, if it is at step `expected`.
  [[nodiscard]] operation_state* find(std::uint64_t ticket, std::uint32_t peer, step expected) noexcept {
    const std::size_t set = operation_pool::set_of(ticket);
    return set < operation_sets ? sets_[set].find(ticket, peer, expected) : nullptr;
  }
  /// The operation with this note, if it waits for an answer of `peer`. Only one caller gets it, and owns it from then
  /// on.
  [[nodiscard]] operation_state* claim(std::uint32_t note, std::uint32_t peer) noexcept {
    const std::size_t set = operation_pool::set_of(note);
    return set < operation_sets ? sets_[set].claim(note, peer) : nullptr;
  }

  /// Visits the operations under way, of all sets; may miss operations that begin or end meanwhile.
  template <class Visit>
  void each(const Visit& visit) {
    for (operation_pool& set : sets_) set.each(visit);
  }

  /// Called at the end, when no other thread uses the operations.
  [[nodiscard]] bool are_consistent() noexcept {
    return std::ranges::all_of(sets_, [](operation_pool& each) { return each.is_consistent(); });
  }

 private:
  // Receives that complete as soon as their message is copied, for when the set of receives is used up.
  static constexpr pool_bounds late_bounds{64, 64};

  [[nodiscard]] operation_pool& of(operation_set set) noexcept { return sets_[static_cast<std::size_t>(set)]; }

  std::array<operation_pool, operation_sets> sets_;
};

}  // namespace weft::core
