// SPDX-License-Identifier: BSD-3-Clause
// The window of free numbers of a group's collectives, under the explorer: one thread enters each barrier, it sees the
// collectives of the epoch, and a number that is open has a count that was set again.
#include "coll/group/number_window.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
// Epochs of two collectives and the barrier.
using window = weft::coll::basic_number_window<model_atomics, 3>;

// A word that one thread writes and another reads, without an order of its own.
struct unordered_word {
  std::uint64_t value = 0;

  void add() {
    std::uint64_t now = read() + 1;
    model_atomics::write_nonatomic(&value, &now, sizeof now);
  }
  [[nodiscard]] std::uint64_t read() const {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &value, sizeof out);
    return out;
  }
};

// The collectives of two epochs end in three threads, those of the later one first, too; each barrier is passed as soon
// as it is entered.
void one_thread_enters_each_barrier_behind_all_its_collectives() {
  kept_until_the_end<window> numbers;
  unordered_word barriers, ended[4];
  const auto enter = [&] {
    for (bool is_last = true; is_last;) {
      barriers.add();
      for (std::uint64_t each = 0; each < 2 * barriers.read() && each < 4; ++each)
        check(ended[each].read() == 1, "the barrier does not see the end of a collective");
      is_last = numbers->pass();
    }
  };
  const auto end = [&](std::uint64_t which) {
    ended[which].add();
    if (numbers->end(which / 2 * 3 + which % 2)) enter();
  };
  threads([&] { end(0); }, [&] { end(1); },
          [&] {
            end(3);
            end(2);
          });
  check(barriers.read() == 2, "a barrier is entered twice, or never");
}

// A thread starts the collectives of the epoch whose numbers become free, and ends them.
void an_open_number_counts_for_its_own_epoch() {
  kept_until_the_end<window> numbers;
  constexpr std::uint64_t first = window::numbers;
  atomic<std::uint32_t> barriers = 0;
  unordered_word ended;
  const auto enter = [&] {
    // [model_window.barrier] relaxed: only the number counts.
    for (bool is_last = true; is_last; is_last = numbers->pass()) barriers.fetch_add(1, std::memory_order_relaxed);
  };
  const auto end = [&](std::uint64_t number) {
    if (numbers->end(number)) enter();
  };
  end(0);
  for (std::uint64_t epoch = 1; epoch < window::epochs; ++epoch) {
    end(3 * epoch);
    end(3 * epoch + 1);
  }
  check(!numbers->is_open(first), "a number is open before its predecessor has ended");
  threads(
      [&] {
        ended.add();
        end(1);
      },
      [&] {
        if (!numbers->is_open(first)) return;
        check(ended.read() == 1, "a number is open, and the end of its predecessor is not seen");
        end(first);
        end(first + 1);
      });
  // [model_window.barrier] relaxed: only the number counts.
  const std::uint32_t passed = barriers.load(std::memory_order_relaxed);
  check(passed == window::epochs || passed == window::epochs + 1, "a barrier is entered twice, or never");
}

class model_number_window : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 5};

TEST_F(model_number_window, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"two epochs", one_thread_enters_each_barrier_behind_all_its_collectives, brief},
                                      {"an open number", an_open_number_counts_for_its_own_epoch, brief}};
  const planting_report report = plant_bugs(programs, {"/number_window.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
