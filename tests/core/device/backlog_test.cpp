// SPDX-License-Identifier: BSD-3-Clause
// What a device continues later: a call of progress tries a bounded number that it does not complete, each is tried at
// some time, and posts do not hold up the rest.
// stages: release asan
#include "core/device/backlog.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <set>

namespace weft::core {
namespace {

struct many_operations {
  many_operations(backlog& to, std::size_t count, step next) : all(count) {
    for (operation_state& each : all) {
      each.next.store(next, std::memory_order_relaxed);  // [own] a test of one thread
      to.add(each);
    }
  }
  std::deque<operation_state> all;
};

TEST(backlog, tries_a_bounded_number_in_vain_and_each_in_its_turn) {
  backlog waiting;
  const many_operations posts{waiting, 10'000, step::post_again};
  std::set<const operation_state*> tried;
  unsigned calls = 0;
  for (; tried.size() < posts.all.size(); ++calls) {
    const std::size_t before = tried.size();
    waiting.each([&](const operation_state& each) { return !tried.insert(&each).second; });
    ASSERT_LE(tried.size() - before, 256U);
    ASSERT_GT(tried.size(), before) << "an operation twice before others";
  }
  EXPECT_GT(calls, 10'000 / 256);
  EXPECT_FALSE(waiting.is_empty());
}

TEST(backlog, goes_on_for_as_long_as_it_has_success) {
  backlog waiting;
  const many_operations posts{waiting, 10'000, step::post_again};
  std::size_t done = 0;
  waiting.each([&](const operation_state&) { return ++done != 0; });
  EXPECT_EQ(done, posts.all.size());
  EXPECT_TRUE(waiting.is_empty());
}

TEST(backlog, lets_an_answer_pass_a_million_posts) {
  backlog waiting;
  const many_operations posts{waiting, 10'000, step::post_again};
  const many_operations answers{waiting, 3, step::send_fin};
  unsigned answered = 0;
  waiting.each([&](const operation_state& each) {
    const bool is_answer = each.next.load(std::memory_order_relaxed) == step::send_fin;  // [own] a test of one thread
    answered += is_answer;
    return is_answer;
  });
  EXPECT_EQ(answered, 3U);
}

TEST(backlog, tries_what_is_added_meanwhile_in_the_next_call) {
  backlog waiting;
  const many_operations first{waiting, 2, step::send_fin};
  operation_state later;
  later.next.store(step::send_fin, std::memory_order_relaxed);  // [own] a test of one thread
  unsigned tried = 0;
  waiting.each([&](const operation_state&) {
    if (++tried == 1) waiting.add(later);
    return true;
  });
  EXPECT_EQ(tried, 2U);
  waiting.each([&](const operation_state& each) {
    EXPECT_EQ(&each, &later);
    return ++tried != 0;
  });
  EXPECT_EQ(tried, 3U);
}

TEST(backlog, gives_out_all_for_a_device_that_ends) {
  backlog waiting;
  const many_operations posts{waiting, 1000, step::post_again};
  waiting.each([](const operation_state&) { return false; });
  const many_operations answers{waiting, 1000, step::send_fin};
  waiting.each([](const operation_state&) { return false; });
  const many_operations added{waiting, 10, step::fetch};
  std::set<const operation_state*> all;
  for (const operation_state* each = waiting.take_all(); each != nullptr; each = each->behind) {
    ASSERT_TRUE(all.insert(each).second);
  }
  EXPECT_EQ(all.size(), 2010U);
  EXPECT_TRUE(waiting.is_empty());
}

TEST(backlog, knows_when_only_entries_wait) {
  backlog waiting;
  EXPECT_FALSE(waiting.has_just_entries());
  waiting.add(waiting.for_entries());
  EXPECT_TRUE(waiting.has_just_entries());
  waiting.each([](const operation_state&) { return false; });
  EXPECT_TRUE(waiting.has_just_entries());
  operation_state other;
  other.next.store(step::send_fin, std::memory_order_relaxed);  // [own] a test of one thread
  waiting.add(other);
  EXPECT_FALSE(waiting.has_just_entries());
  waiting.each([](const operation_state&) { return false; });
  EXPECT_FALSE(waiting.has_just_entries());
  waiting.each([&](const operation_state& each) { return &each == &other; });
  EXPECT_TRUE(waiting.has_just_entries());
}

}  // namespace
}  // namespace weft::core
