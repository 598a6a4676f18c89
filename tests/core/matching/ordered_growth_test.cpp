// SPDX-License-Identifier: BSD-3-Clause
// The tables of an ordered engine grow with what waits in them: a match with 2^20 keys waiting touches as few words of
// nodes as one with 64, and no single call touches many.
// stages: release general asan
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/matching/counting_atomics.hpp"
#include "core/matching/no_new_memory.hpp"
#include "core/matching/ordered_matching.hpp"
#include "support/random_seed.hpp"

namespace ordered_growth_of_many {
namespace {

using weft::match_policy;
using weft::core::make_match_key;
using weft::core::match_result;
using weft::test::counting_atomics;

using engine = weft::core::basic_ordered_matching<counting_atomics>;
using message_node = engine::message_node;
using weft::test::touched_by;

engine::message_list none;  // of posts beside which no other thread posts

constexpr std::uint32_t few = 64;
constexpr std::uint32_t many = weft::test::under_sanitizer ? 1 << 14 : 1 << 20;
constexpr std::uint32_t messages_many = weft::test::under_sanitizer ? 1 << 12 : 100'000;
constexpr std::uint64_t touched_max = 150;  // by one call, whatever waits

// The `i`th of keys that differ in what `policy` compares; rank and tag are both below 2^20.
weft::core::match_key key_of(match_policy policy, std::uint32_t i) {
  return make_match_key(1, policy, policy == match_policy::rank_only ? i : i % 4, i);
}

std::size_t longest_chain(engine& of) {
  std::size_t out = 0;
  EXPECT_TRUE(of.try_measure(out, none));
  return out;
}

// Posts receives of `count` keys, then matches each with a message, the first one first: the mean cost of a match.
double cost_of_a_match(match_policy policy, std::uint32_t count) {
  const std::uint32_t sources = policy == match_policy::rank_only ? count : 4;
  engine tested{sources};
  std::vector<engine::node> receives(count);
  std::vector<std::uint32_t> sent(sources);
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    receives[i].key = key_of(policy, i);
    message_node* found = nullptr;
    most =
        std::max(most, touched_by([&] { EXPECT_EQ(tested.post(receives[i], found, none), match_result::inserted); }));
  }
  EXPECT_LE(longest_chain(tested), 16U);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t source = policy == match_policy::rank_only ? i : i % 4;
    engine::node* found = nullptr;
    engine::message_list released;
    const std::uint64_t cost = touched_by([&] {
      const auto key = make_match_key(1, match_policy::rank_tag, source, i);
      EXPECT_EQ(tested.try_match(key, sent[source]++, found, released), match_result::matched);
    });
    EXPECT_EQ(found, &receives[i]);
    sum += cost;
    most = std::max(most, cost);
  }
  EXPECT_LE(most, touched_max);
  return static_cast<double>(sum) / count;
}

TEST(ordered_growth, many_receives_cost_a_match_no_more_than_few) {
  EXPECT_LE(cost_of_a_match(match_policy::rank_tag, many), 1.5 * cost_of_a_match(match_policy::rank_tag, few));
  for (const match_policy policy : {match_policy::rank_only, match_policy::tag_only}) {
    EXPECT_LE(cost_of_a_match(policy, many / 16), 1.5 * cost_of_a_match(policy, few));
  }
}

// Unexpected messages, received in the reverse order of their tags, by receives of each kind that can name one.
double cost_of_a_receive(match_policy policy, std::uint32_t count) {
  engine tested{1};
  std::vector<message_node> messages(count);
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    messages[i].key = make_match_key(1, match_policy::rank_tag, 0, i);
    messages[i].sequence = i;
    engine::message_list released;
    most = std::max(most, touched_by([&] { EXPECT_EQ(tested.arrive(messages[i], released), match_result::inserted); }));
  }
  std::uint64_t sum = 0;
  engine::node receive;
  for (std::uint32_t i = count; i-- > 0;) {
    receive.key = make_match_key(1, policy, 0, i);
    message_node* found = nullptr;
    const std::uint64_t cost = touched_by([&] { EXPECT_EQ(tested.post(receive, found, none), match_result::matched); });
    const bool is_by_tag = policy == match_policy::rank_tag || policy == match_policy::tag_only;
    EXPECT_EQ(found, &messages[is_by_tag ? i : count - 1 - i]);
    sum += cost;
    most = std::max(most, cost);
  }
  EXPECT_LE(most, touched_max);
  return static_cast<double>(sum) / count;
}

TEST(ordered_growth, many_unexpected_messages_cost_a_receive_no_more_than_few) {
  for (const match_policy policy :
       {match_policy::rank_tag, match_policy::rank_only, match_policy::tag_only, match_policy::none}) {
    EXPECT_LE(cost_of_a_receive(policy, messages_many), 1.5 * cost_of_a_receive(policy, few));
  }
}

TEST(ordered_growth, out_of_sequence_messages_are_found_by_their_numbers) {
  engine tested{2};
  std::vector<message_node> messages(2 * messages_many);
  for (std::uint32_t i = 2 * messages_many; i-- > 2;) {
    messages[i].key = make_match_key(1, match_policy::rank_tag, i % 2, 7);
    messages[i].sequence = i / 2;
    engine::message_list released;
    ASSERT_EQ(tested.arrive(messages[i], released), match_result::inserted);
    ASSERT_EQ(released.first, nullptr);
  }
  EXPECT_LE(longest_chain(tested), 16U);
  for (const std::uint32_t source : {0U, 1U}) {
    messages[source].key = make_match_key(1, match_policy::rank_tag, source, 7);
    engine::message_list released;
    ASSERT_EQ(tested.arrive(messages[source], released), match_result::inserted);
    while (released.has_more()) {
      released = {};
      ASSERT_EQ(tested.continue_early(messages[source].key, released), match_result::none);
    }
  }
  weft::core::ordered_counts counts;
  ASSERT_TRUE(tested.try_count(counts, none));
  EXPECT_EQ(counts.early, 0U);
  EXPECT_EQ(counts.messages, 2 * messages_many);
}

// As a faulty peer numbers them, so that the low bits of all numbers agree.
TEST(ordered_growth, out_of_sequence_messages_with_numbers_far_apart_do_not_make_a_chain) {
  engine tested{1};
  std::vector<message_node> messages(2000);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    messages[i].key = make_match_key(1, match_policy::rank_tag, 0, 7);
    messages[i].sequence = (i + 1) << 20;
    engine::message_list released;
    ASSERT_EQ(tested.arrive(messages[i], released), match_result::inserted);
  }
  EXPECT_LE(longest_chain(tested), 16U);
  message_node twice;
  twice.key = messages[7].key;
  twice.sequence = messages[7].sequence;
  engine::message_list released;
  EXPECT_EQ(tested.arrive(twice, released), match_result::refused);
}

// Its old array is large enough to be released by pieces, and some of them are.
TEST(ordered_growth, an_engine_may_end_while_a_large_table_moves) {
  constexpr std::uint32_t count = (1 << 16) + 5000;
  engine tested{1};
  std::vector<engine::node> receives(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    receives[i].key = make_match_key(1, match_policy::rank_tag, 0, i);
    message_node* found = nullptr;
    ASSERT_EQ(tested.post(receives[i], found, none), match_result::inserted);
  }
  std::uint32_t seen = 0;
  ASSERT_TRUE(tested.try_each([&](const engine::node&) { ++seen; }, [](const message_node&) {}, none));
  EXPECT_EQ(seen, count);
}

TEST(ordered_growth, a_table_that_is_moving_is_visited_and_emptied_as_a_whole) {
  for (std::uint32_t count = 1; count < 300; count += 7) {
    engine tested{count};
    std::vector<engine::node> receives(count);
    std::vector<message_node> messages(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      engine::message_list released;
      messages[i].key = make_match_key(1, match_policy::rank_tag, i, i);
      ASSERT_EQ(tested.arrive(messages[i], released), match_result::inserted);
      message_node* found = nullptr;
      receives[i].key = make_match_key(1, match_policy::rank_tag, i, i + 1);
      ASSERT_EQ(tested.post(receives[i], found, none), match_result::inserted);
    }
    std::uint32_t receives_seen = 0;
    std::uint32_t messages_seen = 0;
    ASSERT_TRUE(tested.try_each([&](const engine::node&) { ++receives_seen; },
                                [&](const message_node&) { ++messages_seen; }, none));
    EXPECT_EQ(receives_seen, count);
    EXPECT_EQ(messages_seen, count);
    engine::message_list all;
    engine::node* chained = nullptr;
    ASSERT_EQ(tested.take_all(all, chained, [](std::uint32_t, std::uint32_t) {}), match_result::removed);
    for (const message_node* each = all.first; each != nullptr; each = each->next) --messages_seen;
    for (; chained != nullptr; chained = chained->behind.get()) --receives_seen;
    EXPECT_EQ(receives_seen + messages_seen, 0U);
  }
}

TEST(ordered_growth, without_memory_chains_get_longer_and_all_stays_right) {
  if (weft::test::under_sanitizer) GTEST_SKIP() << "a sanitizer needs memory of its own";
  constexpr std::uint32_t count = 20'000;
  engine tested{1};
  std::vector<engine::node> receives(2 * count);
  std::uint32_t posted = 0;
  const auto post_some = [&](std::uint32_t until) {
    for (message_node* found = nullptr; posted < until; ++posted) {
      receives[posted].key = make_match_key(1, match_policy::rank_tag, 0, posted);
      if (tested.post(receives[posted], found, none) != match_result::inserted) return;
    }
  };
  {
    const weft::test::no_new_memory here;
    post_some(count);
  }
  EXPECT_EQ(posted, count);
  EXPECT_GE(longest_chain(tested), 10U);
  post_some(2 * count);
  EXPECT_EQ(posted, 2 * count);
  EXPECT_LE(longest_chain(tested), 16U);
  for (std::uint32_t i = 0; i < 2 * count; ++i) {
    engine::node* found = nullptr;
    engine::message_list released;
    ASSERT_EQ(tested.try_match(receives[i].key, i, found, released), match_result::matched);
    ASSERT_EQ(found, &receives[i]);
  }
}

}  // namespace
}  // namespace ordered_growth_of_many
