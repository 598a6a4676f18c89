// SPDX-License-Identifier: BSD-3-Clause
// The matching table: oldest first, keys that never mix, more keys than a bucket has entries, cancelling, and a long
// comparison with a plain list.
// stages: release general asan
#include "core/matching/matching_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/random_seed.hpp"

namespace {

using weft::match_policy;
using weft::core::make_match_key;
using weft::core::match_key;
using weft::core::match_node;
using weft::core::match_result;
using weft::core::match_side;
using weft::core::matching_table;
using weft::core::user_policy;

struct item : match_node {
  std::uint64_t number = 0;

  item() = default;
  item(match_side of, std::uint64_t tag) { set(of, make_match_key(1, match_policy::tag_only, 0, tag)); }
  void set(match_side of, const match_key& with) {
    key = with;
    side = of;
  }
};

// Sends at once, receives in two steps.
match_result insert(matching_table& table, match_node& node, match_node*& found) {
  if (node.side == match_side::send) return table.insert(node, found);
  matching_table::half_done rest;
  return table.fast_insert(node, node.key, rest) ? match_result::inserted : table.insert_rest(rest, node, found);
}

match_node* inserted_or_matched(matching_table& table, match_node& node) {
  match_node* found = nullptr;
  const match_result result = insert(table, node, found);
  EXPECT_EQ(result, found == nullptr ? match_result::inserted : match_result::matched);
  return found;
}

TEST(matching_table, a_send_and_a_receive_of_one_key_meet_whoever_comes_first) {
  matching_table table{16};
  item send{match_side::send, 7};
  item receive{match_side::receive, 7};
  EXPECT_EQ(inserted_or_matched(table, send), nullptr);
  EXPECT_EQ(inserted_or_matched(table, receive), &send);
  EXPECT_EQ(inserted_or_matched(table, receive), nullptr);
  EXPECT_EQ(inserted_or_matched(table, send), &receive);
  EXPECT_EQ(table.count().sends + table.count().receives, 0u);
}

TEST(matching_table, the_oldest_of_a_key_is_matched_first) {
  matching_table table{16};
  std::deque<item> sends;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(inserted_or_matched(table, sends.emplace_back(match_side::send, 3)), nullptr);
  EXPECT_EQ(table.count().sends, 5u);
  item receive{match_side::receive, 3};
  for (item& expected : sends) EXPECT_EQ(inserted_or_matched(table, receive), &expected);
  EXPECT_EQ(inserted_or_matched(table, receive), nullptr);
}

TEST(matching_table, every_part_of_the_key_counts_and_policies_never_meet) {
  matching_table table{1};
  const std::array keys{
      make_match_key(1, match_policy::rank_tag, 2, 3),  make_match_key(2, match_policy::rank_tag, 2, 3),
      make_match_key(1, match_policy::rank_tag, 3, 3),  make_match_key(1, match_policy::rank_tag, 2, 4),
      make_match_key(1, match_policy::rank_only, 2, 3), make_match_key(1, match_policy::tag_only, 2, 3),
      make_match_key(1, match_policy::none, 2, 3),      make_match_key(1, user_policy, 2, 3)};
  std::deque<item> sends;
  for (const match_key& key : keys) {
    sends.emplace_back().set(match_side::send, key);
    EXPECT_EQ(inserted_or_matched(table, sends.back()), nullptr);
  }
  for (std::size_t i = keys.size(); i-- > 0;) {
    item receive;
    receive.set(match_side::receive, keys[i]);
    EXPECT_EQ(inserted_or_matched(table, receive), &sends[i]);
  }
}

TEST(matching_table, what_a_policy_ignores_does_not_count) {
  EXPECT_EQ(make_match_key(1, match_policy::rank_only, 2, 3), make_match_key(1, match_policy::rank_only, 2, 4));
  EXPECT_EQ(make_match_key(1, match_policy::tag_only, 2, 3), make_match_key(1, match_policy::tag_only, 4, 3));
  EXPECT_EQ(make_match_key(1, match_policy::none, 2, 3), make_match_key(1, match_policy::none, 4, 5));
  EXPECT_EQ(make_match_key(1, user_policy, 2, 3), make_match_key(1, user_policy, 4, 3));
}

TEST(matching_table, fingerprints_of_near_keys_spread_over_the_buckets) {
  constexpr std::uint64_t buckets = 1024;
  std::vector<unsigned> load(buckets);
  for (std::uint32_t rank = 0; rank < 64; ++rank) {
    for (std::uint64_t tag = 0; tag < 16; ++tag) {
      ++load[fingerprint(make_match_key(0, match_policy::rank_tag, rank, tag)) % buckets];
    }
  }
  EXPECT_LE(*std::max_element(load.begin(), load.end()), 9u);
}

// More keys than entries: a table that stays at one bucket is a list then, and still right.
TEST(matching_table, keys_beyond_all_buckets_are_still_matched) {
  for (const std::uint32_t most : {1u, 2u, 64u}) {
    matching_table table{1, most, 1};
    std::deque<item> sends;
    for (std::uint64_t tag = 0; tag < 40; ++tag) {
      for (int twice = 0; twice < 2; ++twice) {
        EXPECT_EQ(inserted_or_matched(table, sends.emplace_back(match_side::send, tag)), nullptr);
      }
    }
    EXPECT_EQ(table.count().sends, 80u);
    for (const unsigned first : {0u, 1u}) {
      for (std::uint64_t i = 0; i < 40; ++i) {
        const std::uint64_t tag = i * 17 % 40;
        item receive{match_side::receive, tag};
        EXPECT_EQ(inserted_or_matched(table, receive), &sends[2 * tag + first]);
      }
    }
    EXPECT_EQ(table.count().sends, 0u);
  }
}

TEST(matching_table, spilled_keys_fill_the_gaps_in_any_order) {
  for (std::size_t first = 0; first < 9; ++first) {
    matching_table table{1, 1, 1};
    std::deque<item> sends;
    for (std::uint64_t tag = 0; tag < 9; ++tag) {
      EXPECT_EQ(inserted_or_matched(table, sends.emplace_back(match_side::send, tag)), nullptr);
    }
    EXPECT_EQ(table.count().spilled_keys, 6u);
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(table.remove(sends[(first + i * 4) % 9]), match_result::removed);
      EXPECT_EQ(table.count().spilled_keys, i < 6 ? 5 - i : 0);
    }
  }
}

TEST(matching_table, one_that_was_cancelled_is_not_matched_and_its_like_keep_their_order) {
  for (std::size_t cancelled = 0; cancelled < 4; ++cancelled) {
    matching_table table{4};
    std::deque<item> receives;
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(inserted_or_matched(table, receives.emplace_back(match_side::receive, 5)), nullptr);
    }
    EXPECT_EQ(table.remove(receives[cancelled]), match_result::removed);
    EXPECT_EQ(table.remove(receives[cancelled]), match_result::none);
    EXPECT_EQ(inserted_or_matched(table, receives[cancelled]), nullptr);
    item send{match_side::send, 5};
    for (std::size_t i = 0; i < 4; ++i) {
      if (i == cancelled) continue;
      EXPECT_EQ(inserted_or_matched(table, send), &receives[i]);
    }
    EXPECT_EQ(inserted_or_matched(table, send), &receives[cancelled]);
  }
}

TEST(matching_table, one_that_was_matched_or_is_another_by_now_can_not_be_cancelled) {
  matching_table table{4};
  item receive{match_side::receive, 5};
  EXPECT_EQ(table.remove(receive), match_result::none);
  EXPECT_EQ(inserted_or_matched(table, receive), nullptr);
  EXPECT_EQ(table.remove(receive, [](const match_node&) { return false; }), match_result::none);
  item send{match_side::send, 5};
  EXPECT_EQ(inserted_or_matched(table, send), &receive);
  EXPECT_EQ(table.remove(receive), match_result::none);
}

TEST(matching_table, a_probe_takes_the_oldest_message_and_nothing_else) {
  matching_table table{4};
  match_node* found = nullptr;
  item receive{match_side::receive, 1};
  item first{match_side::send, 2};
  item second{match_side::send, 2};
  EXPECT_EQ(inserted_or_matched(table, receive), nullptr);
  EXPECT_EQ(inserted_or_matched(table, first), nullptr);
  EXPECT_EQ(inserted_or_matched(table, second), nullptr);
  EXPECT_EQ(table.take(receive.key, match_side::send, found), match_result::none);
  EXPECT_EQ(table.take(make_match_key(1, match_policy::tag_only, 0, 3), match_side::send, found), match_result::none);
  EXPECT_EQ(table.take(first.key, match_side::send, found), match_result::matched);
  EXPECT_EQ(found, &first);
  EXPECT_EQ(table.take(first.key, match_side::send, found), match_result::matched);
  EXPECT_EQ(found, &second);
  EXPECT_EQ(table.take(first.key, match_side::send, found), match_result::none);
}

TEST(matching_table, a_peek_shows_the_oldest_message_and_leaves_it) {
  matching_table table{4};
  const match_node* seen = nullptr;
  const auto see = [&](const match_node& each) { seen = &each; };
  item receive{match_side::receive, 1};
  item first{match_side::send, 2};
  item second{match_side::send, 2};
  for (item* each : {&receive, &first, &second}) EXPECT_EQ(inserted_or_matched(table, *each), nullptr);
  EXPECT_EQ(table.peek(receive.key, match_side::send, see), match_result::none);
  EXPECT_EQ(table.peek(make_match_key(1, match_policy::tag_only, 0, 3), match_side::send, see), match_result::none);
  EXPECT_EQ(seen, nullptr);
  for (item* oldest : {&first, &second}) {
    for (int i = 0; i < 2; ++i) {
      seen = nullptr;
      EXPECT_EQ(table.peek(first.key, match_side::send, see), match_result::matched);
      EXPECT_EQ(seen, oldest);
    }
    match_node* found = nullptr;
    EXPECT_EQ(table.take(first.key, match_side::send, found), match_result::matched);
    EXPECT_EQ(found, oldest);
  }
  EXPECT_EQ(table.peek(first.key, match_side::send, see), match_result::none);
}

TEST(matching_table, what_is_extracted_is_gone_and_the_rest_stays_in_order) {
  matching_table table{2, 2, 1};
  std::deque<item> sends;
  for (std::uint32_t i = 0; i < 60; ++i) {
    sends.emplace_back().set(match_side::send, make_match_key(i % 3, match_policy::tag_only, 0, i % 5));
    EXPECT_EQ(inserted_or_matched(table, sends.back()), nullptr);
  }
  match_node* extracted = nullptr;
  EXPECT_EQ(table.extract([](const match_node& each) { return each.key.engine() == 1; }, extracted), 0u);
  unsigned count = 0;
  for (; extracted != nullptr; extracted = extracted->behind.get()) {
    EXPECT_EQ(extracted->key.engine(), 1u);
    EXPECT_EQ(table.remove(*extracted), match_result::none);
    ++count;
  }
  EXPECT_EQ(count, 20u);
  EXPECT_EQ(table.count().sends, 40u);
  for (item& each : sends) {
    match_node* found = nullptr;
    if (each.key.engine() == 1) continue;
    EXPECT_EQ(table.take(each.key, match_side::send, found), match_result::matched);
    EXPECT_EQ(found, &each);
  }
}

// What another thread would find: the visitor runs under the lock of the only bucket.
TEST(matching_table, a_locked_bucket_answers_busy_and_nothing_has_happened) {
  matching_table table{1};
  item waiting{match_side::send, 1};
  EXPECT_EQ(inserted_or_matched(table, waiting), nullptr);
  EXPECT_EQ(table.for_each([&](const match_node&) {
    match_node* found = nullptr;
    item receive{match_side::receive, 1};
    EXPECT_EQ(table.insert(receive, found), match_result::busy);
    EXPECT_EQ(insert(table, receive, found), match_result::busy);
    EXPECT_EQ(table.take(waiting.key, match_side::send, found), match_result::busy);
    EXPECT_EQ(table.remove(waiting), match_result::busy);
    EXPECT_EQ(table.count().unseen_buckets, 1u);
  }),
            0u);
  EXPECT_EQ(table.remove(waiting), match_result::removed);
}

// One list for all, searched from its start.
class reference_matcher {
 public:
  item* insert(item& mine) {
    if (item* found = take(mine.key, mine.side == match_side::send ? match_side::receive : match_side::send)) {
      return found;
    }
    waiting_.push_back(&mine);
    return nullptr;
  }
  item* take(const match_key& key, match_side side) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const item* each) { return each->side == side && each->key == key; });
    if (found == waiting_.end()) return nullptr;
    item* out = *found;
    waiting_.erase(found);
    return out;
  }
  bool remove(const item& which) {
    const auto found = std::find(waiting_.begin(), waiting_.end(), &which);
    if (found == waiting_.end()) return false;
    waiting_.erase(found);
    return true;
  }
  std::size_t size() const { return waiting_.size(); }

 private:
  std::deque<item*> waiting_;
};

void compare_with_a_plain_matcher(std::uint64_t seed, std::uint32_t buckets, std::uint32_t most, unsigned steps) {
  std::mt19937_64 random{seed};
  matching_table table{buckets, most, 1};
  reference_matcher reference;
  std::vector<item> items(128);
  std::vector<item*> free;
  for (item& each : items) free.push_back(&each);
  const std::uint64_t keys = 1 + random() % 64;
  const auto any_key = [&] {
    const std::uint64_t chosen = random() % keys;
    return make_match_key(chosen & 1, static_cast<match_policy>(chosen % 5), chosen >> 2 & 1, chosen >> 3);
  };
  for (unsigned step = 0; step < steps; ++step) {
    const std::uint64_t choice = random() % 16;
    match_node* found = nullptr;
    if (choice < 11 && !free.empty()) {
      item& mine = *free.back();
      mine.set((random() & 1) != 0 ? match_side::send : match_side::receive, any_key());
      item* expected = reference.insert(mine);
      ASSERT_EQ(insert(table, mine, found), expected == nullptr ? match_result::inserted : match_result::matched);
      ASSERT_EQ(found, expected) << "step " << step;
      if (expected != nullptr) {
        free.push_back(expected);
      } else {
        free.erase(std::find(free.begin(), free.end(), &mine));
      }
    } else if (choice < 13) {
      const match_key key = any_key();
      item* expected = reference.take(key, match_side::send);
      ASSERT_EQ(table.take(key, match_side::send, found), expected ? match_result::matched : match_result::none);
      ASSERT_EQ(found, expected) << "step " << step;
      if (expected != nullptr) free.push_back(expected);
    } else {
      item& chosen = items[random() % items.size()];
      const bool expected = reference.remove(chosen);
      ASSERT_EQ(table.remove(chosen), expected ? match_result::removed : match_result::none) << "step " << step;
      if (expected) free.push_back(&chosen);
    }
  }
  ASSERT_EQ(table.count().sends + table.count().receives, reference.size());
}

TEST(matching_table, does_what_a_plain_sequential_matcher_does) {
  const std::uint64_t seed = weft::test::random_seed();
  SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
  constexpr unsigned rounds = weft::test::under_sanitizer ? 6 : 30;
  for (unsigned round = 0; round < rounds && !HasFatalFailure(); ++round) {
    for (const auto& [buckets, most] : {std::pair{1u, 1u}, {1u, 2u}, {1u, 64u}, {2u, 2u}, {2u, 8u}, {64u, 64u}}) {
      compare_with_a_plain_matcher(seed + round, buckets, most, 20'000);
    }
  }
}

}  // namespace
