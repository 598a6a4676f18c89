// SPDX-License-Identifier: BSD-3-Clause
// Many threads on one matching table and on one ordered engine: each send meets one receive, of its key, in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/matching/matching_table.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/matching/ordered_numbers.hpp"
#include "support/random_seed.hpp"
#include "support/time_limit.hpp"
#include "support/waiting.hpp"

namespace {

using weft::match_policy;
using weft::core::make_match_key;
using weft::core::match_key;
using weft::core::match_node;
using weft::core::match_result;
using weft::core::match_side;
using weft::core::matched_messages;
using weft::core::matching_table;
using weft::core::ordered_matching;
using weft::core::ordered_message;
using weft::core::ordered_numbers;

constexpr std::uint32_t scale = weft::test::under_sanitizer ? 1 : 10;

// Tries again until `attempt` is true; ends the test far beyond what any machine needs.
template <class Attempt>
void try_until_done(Attempt attempt) {
  weft::test::time_limit limit;
  while (!attempt()) {
    std::this_thread::yield();
    if (limit.is_over()) throw std::runtime_error{"busy, or waiting, for minutes"};
  }
}

struct item : match_node {
  std::uint32_t number = 0;  // among those of its key and thread
  std::atomic<item*> partner{nullptr};
};

std::vector<item> make_items(std::size_t count, match_side side, std::uint64_t keys) {
  std::vector<item> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i].side = side;
    out[i].key = make_match_key(1, match_policy::tag_only, 0, i % keys);
    out[i].number = static_cast<std::uint32_t>(i / keys);
  }
  return out;
}

// Inserts until it is in, or notes the pair.
void insert(matching_table& table, item& mine) {
  match_node* found = nullptr;
  match_result result = match_result::busy;
  try_until_done([&] { return (result = table.insert(mine, found)) != match_result::busy; });
  if (result != match_result::matched) return;
  auto& other = static_cast<item&>(*found);
  // [test.pair] relaxed: read when all threads have ended.
  EXPECT_EQ(other.partner.exchange(&mine, std::memory_order_relaxed), nullptr);
  // [test.pair_too] relaxed: read when all threads have ended.
  EXPECT_EQ(mine.partner.exchange(&other, std::memory_order_relaxed), nullptr);
}

item* partner_of(const item& of) { return of.partner.load(std::memory_order_relaxed); }  // relaxed: alone

void expect_pairs(const std::vector<item>& sends) {
  for (const item& each : sends) {
    const item* other = partner_of(each);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->side, match_side::receive);
    EXPECT_EQ(other->key, each.key);
    EXPECT_EQ(partner_of(*other), &each);
  }
}

void meet_while_receives_are_cancelled(matching_table& table, std::uint64_t keys) {
  constexpr unsigned threads_each = 3;
  constexpr std::size_t count = 6000 * scale;
  const std::uint64_t seed = weft::test::random_seed();
  SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
  std::array<std::vector<item>, threads_each> sends;
  std::array<std::vector<item>, threads_each> receives;
  for (unsigned i = 0; i < threads_each; ++i) {
    sends[i] = make_items(count, match_side::send, keys);
    receives[i] = make_items(count, match_side::receive, keys);
  }
  std::vector<std::thread> threads;
  std::atomic<unsigned> cancelled{0};
  for (unsigned i = 0; i < threads_each; ++i) {
    threads.emplace_back([&, i] {
      for (item& each : sends[i]) insert(table, each);
    });
    threads.emplace_back([&, i] {
      std::mt19937_64 random{seed + i};
      for (std::size_t at = 0; at < count; ++at) {
        insert(table, receives[i][at]);
        // Cancelled ones are posted again.
        item& chosen = receives[i][at - random() % std::min<std::size_t>(at + 1, 30)];
        if (table.remove(chosen) != match_result::removed) continue;
        cancelled.fetch_add(1, std::memory_order_relaxed);  // [stat]
        insert(table, chosen);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(table.count().sends + table.count().receives + table.count().spilled_keys, 0u);
  for (const auto& each : sends) expect_pairs(each);
  std::cout << cancelled.load(std::memory_order_relaxed) << " cancelled\n";  // [stat]
}

TEST(matching_stress, every_send_meets_one_receive_of_its_key_while_receives_are_cancelled) {
  matching_table table{4, 4, 4};
  meet_while_receives_are_cancelled(table, 50);
}

// Keys wait by thousands, as only then the others of their key come.
TEST(matching_stress, so_it_does_while_the_table_grows) {
  matching_table table{1};
  meet_while_receives_are_cancelled(table, 3000);
  EXPECT_GE(table.bucket_count(), 512U);
}

TEST(matching_stress, between_two_threads_sends_and_receives_of_a_key_meet_in_order) {
  constexpr std::size_t count = 10000 * scale;
  matching_table table{2, 2, 4};
  std::vector<item> sends = make_items(count, match_side::send, 9);
  std::vector<item> receives = make_items(count, match_side::receive, 9);
  std::thread sender{[&] {
    for (item& each : sends) insert(table, each);
  }};
  std::thread receiver{[&] {
    for (item& each : receives) insert(table, each);
  }};
  sender.join();
  receiver.join();
  expect_pairs(sends);
  for (const item& each : sends) ASSERT_EQ(partner_of(each)->number, each.number);
}

// A network that reorders, within bounds.
class network {
 public:
  explicit network(std::uint64_t seed) : random_{seed} {}

  void put(ordered_message& message) {
    const std::scoped_lock lock{mutex_};
    in_flight_.push_back(&message);
  }
  ordered_message* take() {
    const std::scoped_lock lock{mutex_};
    if (in_flight_.empty()) return nullptr;
    constexpr std::size_t window = 100;
    std::swap(in_flight_[random_() % std::min(in_flight_.size(), window)], in_flight_.front());
    ordered_message* out = in_flight_.front();
    in_flight_.pop_front();
    return out;
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::deque<ordered_message*> in_flight_;
};

struct ordered_receive : match_node {
  std::uint32_t number = 0;
  std::atomic<std::uint32_t> sequence{~0u};
};

// Two threads send for each source; two deliver; for each source one posts receives, which must get what that source
// sent in the order in which it was sent, whatever the tags.
TEST(matching_stress, an_ordered_engine_keeps_the_order_of_each_source) {
  constexpr std::uint32_t sources = 2;
  constexpr std::uint32_t count = 4000 * scale;
  constexpr std::uint32_t first = 0u - count / 2;
  const std::uint64_t seed = weft::test::random_seed();
  SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
  ordered_matching engine{sources, first};
  ordered_numbers numbers{sources, first};
  network between{seed};
  std::vector<std::vector<ordered_message>> messages;
  std::vector<std::vector<ordered_receive>> receives;
  for (std::uint32_t i = 0; i < sources; ++i) messages.emplace_back(count), receives.emplace_back(count);
  std::atomic<std::uint32_t> matched{0};

  const auto note = [&](ordered_message& message) {
    auto& receive = static_cast<ordered_receive&>(*message.receive);
    // [test.sequence] relaxed: read when all threads have ended.
    EXPECT_EQ(receive.sequence.exchange(message.sequence, std::memory_order_relaxed), ~0u);
    // [test.matched] relaxed: only counted.
    matched.fetch_add(1, std::memory_order_relaxed);
  };
  // Messages that a call has left to later calls follow.
  const auto note_all = [&](matched_messages& released) {
    for (bool has_more = true; has_more;) {
      for (ordered_message* next = nullptr; released.first != nullptr; released.first = next) {
        next = released.first->next;
        note(*released.first);
      }
      if (has_more = released.has_more(); !has_more) break;
      const match_key key = make_match_key(1, match_policy::rank_tag, released.source(), 0);
      released = {};
      try_until_done([&] { return engine.continue_early(key, released) != match_result::busy; });
    }
  };
  for (std::uint32_t source = 0; source < sources; ++source) numbers.add_credits(source, count);
  const auto send = [&](std::uint32_t source, std::uint32_t from) {
    for (std::uint32_t i = from; i < count; i += 2) {
      ordered_message& mine = messages[source][i];
      mine.side = match_side::send;
      mine.key = make_match_key(1, match_policy::rank_tag, source, i % 7);
      // Some find no room at first, and keep their number only if the other thread has taken a later one.
      try_until_done([&] { return numbers.try_take(source, mine.sequence); });
      if (i % 5 == 0 && numbers.give_back(source, mine.sequence))
        try_until_done([&] { return numbers.try_take(source, mine.sequence); });
      between.put(mine);
    }
  };
  const auto deliver_one = [&](ordered_message& message) {
    matched_messages released;
    match_result result = match_result::busy;
    try_until_done([&] { return (result = engine.arrive(message, released)) != match_result::busy; });
    EXPECT_NE(result, match_result::refused);
    note_all(released);
  };
  const auto deliver = [&] {
    try_until_done([&] {
      while (ordered_message* message = between.take()) deliver_one(*message);
      // [test.all_matched] relaxed: seen sooner or later.
      return matched.load(std::memory_order_relaxed) == sources * count;
    });
  };
  const auto post = [&](std::uint32_t source) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ordered_receive& mine = receives[source][i];
      mine.key = make_match_key(1, match_policy::rank_only, source, 0);
      mine.number = i;
      ordered_message* found = nullptr;
      match_result result = match_result::busy;
      matched_messages released;
      // Some may not be refused, and are left with the thread inside.
      if (i % 3 == 0)
        result = engine.post_or_leave(mine, found, released);
      else
        try_until_done([&] { return (result = engine.post(mine, found, released)) != match_result::busy; });
      if (result == match_result::matched) note(*found);
      note_all(released);
    }
  };

  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < sources; ++i) {
    for (std::uint32_t from : {0u, 1u}) threads.emplace_back(send, i, from);
    threads.emplace_back(post, i);
    threads.emplace_back(deliver);
  }
  for (std::thread& each : threads) each.join();
  for (std::uint32_t source = 0; source < sources; ++source) {
    for (const ordered_receive& each : receives[source]) {
      // relaxed: alone.
      ASSERT_EQ(each.sequence.load(std::memory_order_relaxed), first + each.number);
    }
  }
}

}  // namespace
