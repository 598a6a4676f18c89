// SPDX-License-Identifier: BSD-3-Clause
// Work that causes more work at random ranks, counted by a termination: each piece of level n > 0 sends two pieces of
// level n - 1. The ranks are threads of one process and share a tally of pieces that are left.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <utility>

#include "support/time_limit.hpp"
#include "weft/weft.hpp"

namespace weft::test {

inline const wait_options with_patience{.timeout = patience};
inline constexpr remote_completion spreading_works{1};
// The payloads of messages, by level: a post may refer to its buffer for long.
inline constexpr std::uint32_t spreading_levels[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

/// The pieces of all members that were sent and are not handled.
class pieces_left {
 public:
  void add() noexcept {
    // [pieces_left.count] relaxed: by coherence a piece is added before it is taken away.
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  void subtract() noexcept {
    // [pieces_left.count] relaxed: all this happens before the end of the termination.
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    // [pieces_left.count] relaxed: read behind the end of the termination.
    return count_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> count_{0};
};

class spreading_work {
 public:
  spreading_work(group members, termination& counts, pieces_left& left, std::uint32_t seed)
      : members_{std::move(members)}, counts_{&counts}, left_{&left}, random_{seed} {}

  void send(std::uint32_t level) {
    std::uint32_t target = 0;
    {
      const std::scoped_lock lock{guard_};
      target = members_.world_rank(static_cast<std::uint32_t>(random_() % members_.size()));
    }
    left_->add();
    counts_->sent();
    const status answer = through().post_am(target, spreading_works, {&spreading_levels[level], sizeof level}, done_,
                                            {.allow_retry = false});
    static_cast<void>(answer);
  }

  /// Does the work of a message.
  void handle(const completion_record& message) {
    std::uint32_t level = 0;
    std::memcpy(&level, message.data().data(), sizeof level);
    for (int i = 0; level != 0 && i < 2; ++i) send(level - 1);
    handled_.fetch_add(1, std::memory_order_relaxed);  // [stat]
    left_->subtract();
    counts_->handled();
  }

  /// The pieces that a piece of this level leads to, itself among them.
  [[nodiscard]] static std::uint64_t pieces_of(std::uint32_t level) noexcept { return (2ULL << level) - 1; }
  [[nodiscard]] std::uint64_t handled() const noexcept {
    return handled_.load(std::memory_order_relaxed);  // [stat]
  }
  /// The sum of `handled` of all members; collective.
  [[nodiscard]] std::uint64_t handled_by_all() {
    const std::uint64_t mine = handled();
    std::uint64_t sum = 0;
    collective::allreduce(std::span<const std::uint64_t>{&mine, 1}, std::span<std::uint64_t>{&sum, 1}).run(members_);
    return sum;
  }
  /// Waits until the sent messages are complete locally. Collective.
  void settle() {
    EXPECT_TRUE(through().wait_all(done_, with_patience));
    collective::barrier().run(members_);
  }

 private:
  [[nodiscard]] device& through() const noexcept { return members_.device(); }

  group members_;
  termination* counts_;
  pieces_left* left_;
  counter done_{members_.device().runtime()};
  std::mutex guard_;
  std::minstd_rand random_;
  std::atomic<std::uint64_t> handled_{0};
};

}  // namespace weft::test
