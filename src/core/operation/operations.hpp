// SPDX-License-Identifier: BSD-3-Clause
// The operations of a runtime: a set for each of the purposes of `operation_set`.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/operation/pool.hpp"

namespace weft::core {

/// The state of a walk over the operations that visits some of them at a time (`operations::each_some`).
struct operation_walk {
  std::size_t set = 0;
  std::uint32_t index = 0;
};

class operations {
 public:
  /// Long active messages that are received at a time, unless the number of operations is set.
  static constexpr std::uint32_t long_messages_max = 1024;

  /// `posts`: also of arrivals.
  operations(const pool_bounds& posts, const pool_bounds& receives, state_budget& budget)
      : sets_{operation_pool{operation_set::posts, posts, budget},
              operation_pool{operation_set::arrivals, posts, budget},
              operation_pool{operation_set::receives, receives, budget},
              operation_pool{operation_set::late_receives, late_bounds, budget}},
        long_max_{std::min(posts.most, long_messages_max)} {}

  /// Bytes of the operations that there are from the beginning.
  [[nodiscard]] static constexpr std::uint64_t bytes_at_first(const pool_bounds& posts,
                                                              const pool_bounds& receives) noexcept {
    using pool = slab_pool<operation_state>;
    return 2 * pool::bytes_at_first(posts) + pool::bytes_at_first(receives) + pool::bytes_at_first(late_bounds);
  }

  [[nodiscard]] operation_pool& posts() noexcept { return pool_of(operation_set::posts); }
  [[nodiscard]] operation_pool& arrivals() noexcept { return pool_of(operation_set::arrivals); }
  [[nodiscard]] operation_pool& receives() noexcept { return pool_of(operation_set::receives); }
  [[nodiscard]] operation_pool& late_receives() noexcept { return pool_of(operation_set::late_receives); }
  void put(operation_state& done) noexcept {
    if (done.copying.is_counted) [[unlikely]]
      long_messages_.fetch_sub(1, std::memory_order_relaxed);  // [hint] as below
    pool_of(done.set()).put(done);
  }

  /// Counts an operation of `arrivals` among the long active messages under way, until it is put back. False: there are
  /// as many as may be, since each has memory for all of its bytes, which no other bound counts.
  [[nodiscard]] bool try_begin_long_message(operation_state& arriving) noexcept {
    // [hint] threads that count at one moment may refuse one too many: that one is tried again.
    if (long_messages_.fetch_add(1, std::memory_order_relaxed) >= long_max_) {
      long_messages_.fetch_sub(1, std::memory_order_relaxed);  // [hint] the same
      return false;
    }
    arriving.copying.is_counted = true;
    return true;
  }

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

  /// How many there are, free or under way.
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t out = 0;
    for (const operation_pool& set : sets_) out += set.count();
    return out;
  }
  /// Looks at the next `most` operations, at all of them once where there are fewer, and visits those under way.
  template <class Visit>
  void each_some(operation_walk& walk, std::uint64_t most, const Visit& visit) {
    for (std::uint64_t left = std::min(most, count()); left != 0;) {
      const std::uint64_t looked = sets_[walk.set].each_from(walk.index, left, visit);
      left -= looked;
      if (left != 0 || walk.index >= sets_[walk.set].count()) walk = {(walk.set + 1) % operation_sets, 0};
    }
  }

  /// Called at the end, when no other thread uses the operations.
  [[nodiscard]] bool are_consistent() noexcept {
    return std::ranges::all_of(sets_, [](operation_pool& each) { return each.is_consistent(); });
  }

 private:
  // Receives that complete as soon as their message is copied, for when the set of receives is used up.
  static constexpr pool_bounds late_bounds{64, 64};

  [[nodiscard]] operation_pool& pool_of(operation_set set) noexcept { return sets_[static_cast<std::size_t>(set)]; }

  std::array<operation_pool, operation_sets> sets_;
  std::uint32_t long_max_;
  std::atomic<std::uint32_t> long_messages_{0};
};

}  // namespace weft::core
