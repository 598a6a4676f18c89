// SPDX-License-Identifier: BSD-3-Clause
// The matching table grows with what waits in it: a match with 2^20 keys waiting touches as few words as one with 64,
// no single call touches many, and a table that may not grow stays right. stages: release general asan
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "core/matching/counting_atomics.hpp"
#include "core/matching/matching_table.hpp"
#include "core/matching/no_new_memory.hpp"
#include "support/random_seed.hpp"

namespace matching_growth_of_many {
namespace {

using weft::match_policy;
using weft::core::make_match_key;
using weft::core::match_key;
using weft::core::match_result;
using weft::core::match_side;
using weft::test::counting_atomics;
using weft::test::touched_by;

using table = weft::core::basic_matching_table<counting_atomics>;

constexpr std::uint32_t few = 64;
constexpr std::uint32_t many = weft::test::under_sanitizer ? 1 << 14 : 1 << 20;
constexpr std::uint64_t touched_max = 400;  // by one call, whatever waits: it splits ten buckets at most

match_key key_of(std::uint32_t i) { return make_match_key(0, match_policy::rank_tag, i % 16, i / 16); }

std::vector<table::node> nodes_of(match_side side, std::uint32_t count) {
  std::vector<table::node> out(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    out[i].side = side;
    out[i].key = key_of(i);
  }
  return out;
}

match_result post(table& at, table::node& receive) {
  table::node* found = nullptr;
  table::half_done rest;
  return at.fast_insert(receive, receive.key, rest) ? match_result::inserted : at.insert_rest(rest, receive, found);
}

struct costs {
  double of_a_post;
  double of_a_match;
};

costs mean_costs(std::uint32_t count) {
  table tested{16};
  std::vector<table::node> receives = nodes_of(match_side::receive, count);
  std::uint64_t posts = 0;
  std::uint64_t matches = 0;
  std::uint64_t most = 0;
  for (table::node& each : receives) {
    const std::uint64_t cost = touched_by([&] { EXPECT_EQ(post(tested, each), match_result::inserted); });
    posts += cost;
    most = std::max(most, cost);
  }
  EXPECT_GE(2 * tested.bucket_count(), count);
  EXPECT_LE(8 * tested.count().spilled_keys, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    table::node* found = nullptr;
    const std::uint64_t cost =
        touched_by([&] { EXPECT_EQ(tested.take(key_of(i), match_side::receive, found), match_result::matched); });
    EXPECT_EQ(found, &receives[i]);
    matches += cost;
    most = std::max(most, cost);
  }
  EXPECT_LE(most, touched_max);
  EXPECT_EQ(tested.count().receives, 0U);
  return {static_cast<double>(posts) / count, static_cast<double>(matches) / count};
}

TEST(matching_growth, many_keys_cost_a_match_no_more_than_few) {
  const costs of_few = mean_costs(few);
  const costs of_many = mean_costs(many);
  EXPECT_LE(of_many.of_a_match, 1.5 * of_few.of_a_match);
  // All that the growth has cost so far is in the posts.
  EXPECT_LE(of_many.of_a_post, 3 * of_few.of_a_post);
}

// Unexpected messages, received in the reverse order of their tags: of a policy that leaves the tag open, in their own.
double cost_of_a_receive(match_policy policy, std::uint32_t count) {
  table tested{16};
  std::vector<table::node> sends(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    sends[i].side = match_side::send;
    sends[i].key = make_match_key(3, policy, 0, i);
    table::node* found = nullptr;
    EXPECT_EQ(tested.insert(sends[i], found), match_result::inserted);
  }
  const bool is_by_tag = policy != match_policy::rank_only && policy != match_policy::none;
  std::uint64_t sum = 0;
  table::node receive;
  for (std::uint32_t i = count; i-- > 0;) {
    receive.key = make_match_key(3, policy, 0, i);
    table::node* found = nullptr;
    const std::uint64_t cost = touched_by([&] { EXPECT_EQ(tested.insert(receive, found), match_result::matched); });
    EXPECT_EQ(found, &sends[is_by_tag ? i : count - 1 - i]);
    EXPECT_LE(cost, touched_max);
    sum += cost;
  }
  return static_cast<double>(sum) / count;
}

TEST(matching_growth, many_unexpected_messages_cost_a_receive_no_more_than_few) {
  // The table has not doubled just before: the next calls pay for that.
  constexpr std::uint32_t messages_many = weft::test::under_sanitizer ? 1 << 12 : 1 << 17;
  for (const match_policy policy : {match_policy::rank_tag, match_policy::rank_only, match_policy::tag_only,
                                    match_policy::none, weft::core::user_policy}) {
    EXPECT_LE(cost_of_a_receive(policy, messages_many), 1.5 * cost_of_a_receive(policy, few));
  }
}

TEST(matching_growth, many_receives_of_one_key_do_not_slow_a_split) {
  table tested{1};
  std::vector<table::node> same(10'000);
  for (table::node& each : same) {
    each.key = key_of(7);
    ASSERT_EQ(post(tested, each), match_result::inserted);
  }
  std::vector<table::node> others = nodes_of(match_side::receive, 1000);
  for (std::uint32_t i = 100; i < 1000; ++i) {
    EXPECT_LE(touched_by([&] { EXPECT_EQ(post(tested, others[i]), match_result::inserted); }), touched_max);
  }
  EXPECT_GE(tested.bucket_count(), 512U);
  // In their order, and the younger ones can still be cancelled.
  EXPECT_EQ(tested.remove(same[1]), match_result::removed);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    if (i == 1) continue;
    table::node* found = nullptr;
    ASSERT_EQ(tested.take(key_of(7), match_side::receive, found), match_result::matched);
    ASSERT_EQ(found, &same[i]);
  }
}

TEST(matching_growth, a_table_that_may_not_grow_stays_right) {
  table tested{16, 16};
  std::vector<table::node> receives = nodes_of(match_side::receive, 2000);
  for (table::node& each : receives) ASSERT_EQ(post(tested, each), match_result::inserted);
  EXPECT_EQ(tested.bucket_count(), 16U);
  EXPECT_EQ(tested.count().receives, 2000U);
  EXPECT_EQ(tested.count().spilled_keys, 2000U - 16 * 3);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    table::node* found = nullptr;
    ASSERT_EQ(tested.take(key_of(i), match_side::receive, found), match_result::matched);
    ASSERT_EQ(found, &receives[i]);
  }
}

TEST(matching_growth, without_memory_the_table_stays_as_it_is_and_right) {
  if (weft::test::under_sanitizer) GTEST_SKIP() << "a sanitizer needs memory of its own";
  constexpr std::uint32_t count = 10'000;
  table tested{64};
  std::vector<table::node> receives = nodes_of(match_side::receive, count);
  std::uint32_t posted = 0;
  const auto post_some = [&](std::uint32_t until) {
    while (posted < until && post(tested, receives[posted]) == match_result::inserted) ++posted;
  };
  {
    const weft::test::no_new_memory here;
    post_some(100);
  }
  EXPECT_EQ(posted, 100U);
  EXPECT_EQ(tested.bucket_count(), 64U);
  post_some(count);
  EXPECT_EQ(posted, count);
  EXPECT_GE(2 * tested.bucket_count(), count);
  for (std::uint32_t i = 0; i < count; ++i) {
    table::node* found = nullptr;
    ASSERT_EQ(tested.take(key_of(i), match_side::receive, found), match_result::matched);
    ASSERT_EQ(found, &receives[i]);
  }
}

// At each number of keys, and so in each state of a growth.
TEST(matching_growth, a_table_that_grows_is_visited_emptied_and_cancelled_as_a_whole) {
  for (std::uint32_t count = 1; count < 400; count += 3) {
    table tested{2};
    std::vector<table::node> sends = nodes_of(match_side::send, count);
    for (table::node& each : sends) {
      table::node* found = nullptr;
      ASSERT_EQ(tested.insert(each, found), match_result::inserted);
    }
    std::set<const table::node*> seen;
    EXPECT_EQ(tested.for_each([&](const table::node& each) { EXPECT_TRUE(seen.insert(&each).second); }), 0U);
    EXPECT_EQ(seen.size(), count);
    for (std::uint32_t i = 0; i < count; i += 2) ASSERT_EQ(tested.remove(sends[i]), match_result::removed);
    table::node* rest = nullptr;
    EXPECT_EQ(tested.extract([](const table::node&) { return true; }, rest), 0U);
    std::uint32_t extracted = 0;
    for (; rest != nullptr; rest = rest->behind.get()) ++extracted;
    EXPECT_EQ(extracted, count / 2);
    EXPECT_EQ(tested.count().sends + tested.count().spilled_keys, 0U);
  }
}

}  // namespace
}  // namespace matching_growth_of_many
