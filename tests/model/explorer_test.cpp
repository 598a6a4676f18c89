// SPDX-License-Identifier: BSD-3-Clause
// The explorer itself: litmus tests whose answers are known. They try orders, which therefore have no labels.
#include "model/explorer.hpp"

#include <gtest/gtest.h>

#include "model/atomics.hpp"

namespace {

using namespace weft::model;

const search everything{.deviations_max = 50};

class explorer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// Each access has a line of its own, so that each is a site.
void pass_message(orders publish_order, orders poll_order) {
  atomic<int> data{0};
  atomic<int> flag{0};
  threads(
      [&] {
        data.store(42, orders::relaxed);
        flag.store(1, publish_order);
      },
      [&] {
        if (flag.load(poll_order) == 1) check(data.load(orders::relaxed) == 42, "the message is old");
      });
}

TEST_F(explorer, message_passing_needs_both_release_and_acquire) {
  const outcome right = explore({}, [] { pass_message(orders::release, orders::acquire); });
  EXPECT_FALSE(right.failed) << right;
  EXPECT_TRUE(right.complete);
  EXPECT_TRUE(explore({}, [] { pass_message(orders::relaxed, orders::acquire); }).failed);
  EXPECT_TRUE(explore({}, [] { pass_message(orders::release, orders::relaxed); }).failed);
}

TEST_F(explorer, a_failure_comes_with_what_replays_it) {
  const auto body = [] { pass_message(orders::relaxed, orders::relaxed); };
  const outcome found = explore({}, body);
  ASSERT_TRUE(found.failed);
  EXPECT_NE(found.trace.find("old by 1"), std::string::npos) << found.trace;
  search again;
  again.replay = found.replay;
  const outcome replayed = explore(again, body);
  EXPECT_TRUE(replayed.failed);
  EXPECT_EQ(replayed.executions, 1u);
  EXPECT_EQ(replayed.failure, found.failure);
}

TEST_F(explorer, a_random_search_finds_it_too_and_is_the_same_each_time) {
  search how;
  how.executions_max = 1;
  how.random_executions_max = 1000;
  const auto body = [] { pass_message(orders::relaxed, orders::relaxed); };
  const outcome first = explore(how, body);
  const outcome second = explore(how, body);
  ASSERT_TRUE(first.failed);
  EXPECT_EQ(first.replay, second.replay);
  EXPECT_EQ(first.executions, second.executions);
}

bool both_zero;

void buffer_stores(orders store_order, orders load_order) {
  atomic<int> x{0};
  atomic<int> y{0};
  int seen_x = -1;
  int seen_y = -1;
  threads(
      [&] {
        x.store(1, store_order);
        seen_y = y.load(load_order);
      },
      [&] {
        y.store(1, store_order);
        seen_x = x.load(load_order);
      });
  if (seen_x == 0 && seen_y == 0) both_zero = true;
}

TEST_F(explorer, store_buffering_is_seen_but_with_sequential_consistency) {
  both_zero = false;
  EXPECT_TRUE(explore(everything, [] { buffer_stores(orders::seq_cst, orders::seq_cst); }).complete);
  EXPECT_FALSE(both_zero);
  EXPECT_TRUE(explore(everything, [] { buffer_stores(orders::release, orders::acquire); }).complete);
  EXPECT_TRUE(both_zero);
}

TEST_F(explorer, a_thread_never_reads_backwards_at_one_location) {
  const outcome result = explore(everything, [] {
    atomic<int> x{0};
    threads(
        [&] {
          x.store(1, orders::relaxed);
          x.store(2, orders::relaxed);
        },
        [&] {
          const int first = x.load(orders::relaxed);
          const int second = x.load(orders::relaxed);
          check(first <= second, "older after newer");
        });
  });
  EXPECT_FALSE(result.failed) << result;
  EXPECT_TRUE(result.complete);
}

TEST_F(explorer, what_a_release_passes_on_includes_what_was_learnt_from_others) {
  const auto chain = [](orders middle_order) {
    atomic<int> data{0};
    atomic<int> first{0};
    atomic<int> second{0};
    threads(
        [&] {
          data.store(1, orders::relaxed);
          first.store(1, orders::release);
        },
        [&] {
          if (first.load(middle_order) == 1) second.store(1, orders::release);
        },
        [&] {
          if (second.load(orders::acquire) == 1) check(data.load(orders::relaxed) == 1, "the message is old");
        });
  };
  EXPECT_FALSE(explore({}, [&] { chain(orders::acquire); }).failed);
  EXPECT_TRUE(explore({}, [&] { chain(orders::relaxed); }).failed);
}

TEST_F(explorer, a_release_sequence_goes_on_through_exchanges_but_not_through_stores) {
  const auto sequence = [](bool exchanging) {
    atomic<int> data{0};
    atomic<int> flag{0};
    threads(
        [&] {
          data.store(1, orders::relaxed);
          flag.store(1, orders::release);
        },
        [&] {
          if (exchanging) {
            int one = 1;
            flag.compare_exchange_strong(one, 2, orders::relaxed, orders::relaxed);
          } else if (flag.load(orders::relaxed) == 1) {
            flag.store(2, orders::relaxed);
          }
        },
        [&] {
          if (flag.load(orders::acquire) == 2) check(data.load(orders::relaxed) == 1, "the message is old");
        });
  };
  EXPECT_FALSE(explore({}, [&] { sequence(true); }).failed);
  EXPECT_TRUE(explore({}, [&] { sequence(false); }).failed);
}

TEST_F(explorer, additions_are_atomic_and_a_torn_one_is_noticed) {
  const auto count = [] {
    atomic<int> counter{0};
    const auto add = [&] { counter.fetch_add(1, orders::relaxed); };
    threads(add, add, add);
    check(counter.load(orders::relaxed) == 3, "an addition is lost");
  };
  const outcome right = explore({}, count);
  EXPECT_FALSE(right.failed) << right;
  search torn;
  for (unsigned site : right.sites) {
    if (site_table::instance().at(site).kind == access::modify) torn.planting = {bug::tear, site, nullptr};
  }
  EXPECT_TRUE(explore(torn, count).failed);
}

TEST_F(explorer, a_weak_exchange_may_fail_for_nothing) {
  const auto once = [](bool weak) {
    atomic<int> x{0};
    threads([&] {
      int zero = 0;
      check(weak ? x.compare_exchange_weak(zero, 1, orders::acq_rel, orders::acquire)
                 : x.compare_exchange_strong(zero, 1, orders::acq_rel),
            "failed for nothing");
    });
  };
  EXPECT_FALSE(explore({}, [&] { once(false); }).failed);
  EXPECT_TRUE(explore({}, [&] { once(true); }).failed);
}

TEST_F(explorer, a_race_on_plain_bytes_is_found_and_an_ordered_access_is_none) {
  const auto pass = [](orders publish_order) {
    atomic<int> flag{0};
    alignas(8) char bytes[16] = {};
    threads(
        [&] {
          model_atomics::write_nonatomic(bytes, "fifteen letters", 16);
          flag.store(1, publish_order);
        },
        [&] {
          char copy[16];
          if (flag.load(orders::acquire) == 1) model_atomics::read_nonatomic(copy, bytes, 16);
        });
  };
  EXPECT_FALSE(explore({}, [&] { pass(orders::release); }).failed);
  EXPECT_TRUE(explore({}, [&] { pass(orders::relaxed); }).failed);
}

TEST_F(explorer, a_read_that_counts_must_come_before_the_next_write) {
  const auto hand_over = [](orders pass_order) {
    using support = weft::detail::atomics_support<model_atomics>;
    atomic<std::uint64_t> word{7};
    atomic<int> mine{1};
    threads(
        [&] {
          const std::uint64_t copy = word.load(orders::relaxed);
          mine.store(0, pass_order);
          support::confirm_read(&word, sizeof word);
          check(copy == 7, "overwritten");
        },
        [&] {
          if (mine.load(orders::acquire) == 0) word.store(8, orders::relaxed);
        });
  };
  EXPECT_FALSE(explore({}, [&] { hand_over(orders::release); }).failed);
  EXPECT_TRUE(explore({}, [&] { hand_over(orders::relaxed); }).failed);
}

TEST_F(explorer, use_after_release_of_memory_is_found) {
  using support = weft::detail::atomics_support<model_atomics>;
  const outcome result = explore({}, [] {
    auto* word = static_cast<atomic<int>*>(support::allocate_zeroed(64));
    atomic<int> done{0};
    threads([&] { done.store(word->load(orders::relaxed) + 1, orders::release); },
            [&] {
              if (done.load(orders::acquire) == 0) return;
              support::release_zeroed(word, 64);
            },
            [&] { word->load(orders::relaxed); });
  });
  EXPECT_TRUE(result.failed);
}

TEST_F(explorer, memory_must_be_handed_over_before_it_is_used) {
  using support = weft::detail::atomics_support<model_atomics>;
  const auto hand_over = [](orders load_order) {
    atomic<atomic<int>*> shared{nullptr};
    threads([&] { shared.store(static_cast<atomic<int>*>(support::allocate_zeroed(64)), orders::release); },
            [&] {
              atomic<int>* word = shared.load(load_order);
              if (word != nullptr) word->store(1, orders::relaxed);
            });
    support::release_zeroed(shared.load(orders::relaxed), 64);
  };
  EXPECT_FALSE(explore({}, [&] { hand_over(orders::acquire); }).failed);
  EXPECT_TRUE(explore({}, [&] { hand_over(orders::relaxed); }).failed);
}

TEST_F(explorer, two_locks_in_two_orders_are_a_deadlock) {
  const auto take = [](bool same_order) {
    mutex a;
    mutex b;
    threads(
        [&] {
          const std::lock_guard<mutex> first(a);
          const std::lock_guard<mutex> second(b);
        },
        [&] {
          const std::lock_guard<mutex> first(same_order ? a : b);
          const std::lock_guard<mutex> second(same_order ? b : a);
        });
  };
  EXPECT_FALSE(explore({}, [&] { take(true); }).failed);
  const outcome crossed = explore({}, [&] { take(false); });
  EXPECT_NE(crossed.failure.find("deadlock"), std::string::npos) << crossed;
}

TEST_F(explorer, a_wait_for_what_never_comes_is_found_and_one_that_ends_is_none) {
  const auto wait = [](int awaited) {
    atomic<int> flag{0};
    threads([&] { flag.store(1, orders::release); },
            [&] {
              while (flag.load(orders::acquire) != awaited) await_change();
            });
  };
  EXPECT_FALSE(explore({}, [&] { wait(1); }).failed);
  EXPECT_TRUE(explore({}, [&] { wait(2); }).failed);
}

TEST_F(explorer, a_loop_without_end_is_found) {
  const outcome result = explore({}, [] {
    atomic<int> flag{0};
    threads([&] {
      while (flag.load(orders::acquire) == 0) {
      }
    });
  });
  EXPECT_NE(result.failure.find("no end"), std::string::npos) << result;
}

TEST_F(explorer, an_exception_in_a_thread_is_a_failure) {
  const outcome result = explore({}, [] { threads([] { throw std::runtime_error("thrown"); }); });
  EXPECT_NE(result.failure.find("thrown"), std::string::npos) << result;
}

}  // namespace
