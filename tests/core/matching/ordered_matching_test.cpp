// SPDX-License-Identifier: BSD-3-Clause
// The ordered engine: numbers, early arrivals, wildcards, oldest first on both sides, and a long comparison with lists.
// stages: release general asan
#include "core/matching/ordered_matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/random_seed.hpp"

namespace {

using weft::match_policy;
using weft::core::fast_posted;
using weft::core::make_match_key;
using weft::core::match_key;
using weft::core::match_node;
using weft::core::match_result;
using weft::core::matched_messages;
using weft::core::ordered_counts;
using weft::core::ordered_matching;
using weft::core::ordered_message;

constexpr match_policy policies[] = {match_policy::rank_tag, match_policy::rank_only, match_policy::tag_only,
                                     match_policy::none};

void name(ordered_message& message, std::uint32_t source, std::uint64_t tag, std::uint32_t sequence) {
  message.side = weft::core::match_side::send;
  message.key = make_match_key(1, match_policy::rank_tag, source, tag);
  message.sequence = sequence;
}

match_node* receive_of(match_node& node, match_policy policy, std::uint32_t source, std::uint64_t tag) {
  node.key = make_match_key(1, policy, source, tag);
  return &node;
}

// The functions add messages that receives of other threads have matched; there are none where one thread is alone.
matched_messages late;

class ordered_matching_test : public ::testing::Test {
 protected:
  // Returns the matched messages, in order.
  std::vector<ordered_message*> arrive(std::uint32_t source, std::uint64_t tag, std::uint32_t sequence,
                                       match_result expected) {
    ordered_message& message = messages_.emplace_back();
    name(message, source, tag, sequence);
    return arrive(message, expected);
  }
  std::vector<ordered_message*> arrive(ordered_message& message, match_result expected) {
    matched_messages released;
    EXPECT_EQ(engine_.arrive(message, released), expected);
    std::vector<ordered_message*> out;
    for (ordered_message* each = released.first; each != nullptr; each = each->next) out.push_back(each);
    return out;
  }
  // Returns the message, or null.
  ordered_message* post(match_node& receive, match_policy policy, std::uint32_t source = 0, std::uint64_t tag = 0) {
    receive_of(receive, policy, source, tag);
    ordered_message* found = nullptr;
    const match_result result = engine_.post(receive, found, late);
    EXPECT_EQ(result, found != nullptr ? match_result::matched : match_result::inserted);
    EXPECT_TRUE(found == nullptr || found->receive == &receive);
    return found;
  }
  ordered_counts count() {
    ordered_counts out;
    EXPECT_TRUE(engine_.try_count(out, late));
    return out;
  }

  ordered_matching engine_{4};
  std::deque<ordered_message> messages_;
};

TEST_F(ordered_matching_test, a_message_finds_the_receive_that_waits_and_the_other_way_round) {
  match_node receive;
  EXPECT_EQ(post(receive, match_policy::rank_tag, 2, 7), nullptr);
  EXPECT_EQ(arrive(2, 7, 0, match_result::matched).at(0)->receive, &receive);
  arrive(2, 7, 1, match_result::inserted);
  EXPECT_EQ(post(receive, match_policy::rank_tag, 2, 7), &messages_[1]);
}

TEST_F(ordered_matching_test, early_messages_wait_for_those_before_them) {
  match_node receives[3];
  for (match_node& each : receives) post(each, match_policy::rank_only, 1);
  EXPECT_TRUE(arrive(1, 5, 2, match_result::inserted).empty());
  EXPECT_TRUE(arrive(1, 6, 1, match_result::inserted).empty());
  EXPECT_EQ(count().early, 2u);
  const auto released = arrive(1, 7, 0, match_result::matched);
  ASSERT_EQ(released.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(released[i]->sequence, i);
    EXPECT_EQ(released[i]->receive, &receives[i]);
  }
  EXPECT_EQ(count().early + count().messages + count().receives, 0u);
}

TEST_F(ordered_matching_test, one_that_waits_for_a_receive_still_lets_those_behind_it_go) {
  match_node receive;
  post(receive, match_policy::rank_tag, 1, 9);
  arrive(1, 9, 1, match_result::inserted);
  const auto released = arrive(1, 8, 0, match_result::inserted);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0], &messages_[0]);
  EXPECT_EQ(count().messages, 1u);
}

TEST_F(ordered_matching_test, sources_are_numbered_apart) {
  arrive(0, 1, 0, match_result::inserted);
  arrive(1, 1, 0, match_result::inserted);
  arrive(1, 1, 2, match_result::inserted);
  EXPECT_EQ(count().messages, 2u);
  EXPECT_EQ(count().early, 1u);
}

TEST_F(ordered_matching_test, a_number_that_was_here_or_a_source_from_nowhere_is_refused) {
  arrive(1, 1, 0, match_result::inserted);
  arrive(1, 1, 0, match_result::refused);
  arrive(1, 1, 0xffffffff, match_result::refused);
  arrive(1, 1, 5, match_result::inserted);
  arrive(1, 1, 5, match_result::refused);
  arrive(4, 1, 0, match_result::refused);
  match_node* receive = nullptr;
  matched_messages released;
  EXPECT_EQ(engine_.try_match(make_match_key(1, match_policy::rank_tag, 4, 1), 0, receive, released),
            match_result::refused);
}

TEST_F(ordered_matching_test, the_oldest_receive_that_fits_wins_whatever_it_leaves_open) {
  for (std::size_t rotated = 0; rotated < 4; ++rotated) {
    match_node receives[4];
    for (std::size_t i = 0; i < 4; ++i) post(receives[i], policies[(i + rotated) % 4], 3, 3);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const auto sequence = static_cast<std::uint32_t>(4 * rotated + i);
      EXPECT_EQ(arrive(3, 3, sequence, match_result::matched).at(0)->receive, &receives[i]);
    }
  }
}

TEST_F(ordered_matching_test, a_receive_takes_the_oldest_message_that_it_fits) {
  arrive(0, 1, 0, match_result::inserted);
  arrive(1, 2, 0, match_result::inserted);
  arrive(1, 1, 1, match_result::inserted);
  arrive(0, 2, 1, match_result::inserted);
  match_node receive;
  EXPECT_EQ(post(receive, match_policy::rank_only, 1), &messages_[1]);
  EXPECT_EQ(post(receive, match_policy::tag_only, 0, 2), &messages_[3]);
  EXPECT_EQ(post(receive, match_policy::none), &messages_[0]);
  EXPECT_EQ(post(receive, match_policy::rank_tag, 1, 2), nullptr);
  EXPECT_EQ(engine_.remove(receive, late), match_result::removed);
  EXPECT_EQ(post(receive, match_policy::rank_tag, 1, 1), &messages_[2]);
  EXPECT_EQ(count().messages, 0u);
}

TEST_F(ordered_matching_test, a_probe_takes_the_oldest_message_that_fits_and_no_early_one) {
  arrive(2, 4, 1, match_result::inserted);
  ordered_message* found = nullptr;
  EXPECT_EQ(engine_.take(make_match_key(1, match_policy::none, 0, 0), found, late), match_result::none);
  arrive(2, 5, 0, match_result::inserted);
  EXPECT_EQ(engine_.take(make_match_key(1, match_policy::tag_only, 0, 4), found, late), match_result::matched);
  EXPECT_EQ(found, &messages_[0]);
  EXPECT_EQ(engine_.take(make_match_key(1, match_policy::none, 0, 0), found, late), match_result::matched);
  EXPECT_EQ(found, &messages_[1]);
}

TEST_F(ordered_matching_test, a_peek_shows_the_oldest_message_that_fits_and_leaves_it) {
  const ordered_message* seen = nullptr;
  const auto see = [&](const ordered_message& each) { seen = &each; };
  arrive(2, 4, 1, match_result::inserted);
  EXPECT_EQ(engine_.peek(make_match_key(1, match_policy::none, 0, 0), see, late), match_result::none) << "it is early";
  arrive(2, 5, 0, match_result::inserted);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(engine_.peek(make_match_key(1, match_policy::none, 0, 0), see, late), match_result::matched);
    EXPECT_EQ(seen, &messages_[1]);
    EXPECT_EQ(engine_.peek(make_match_key(1, match_policy::rank_tag, 2, 4), see, late), match_result::matched);
    EXPECT_EQ(seen, &messages_[0]);
  }
  EXPECT_EQ(engine_.peek(make_match_key(1, match_policy::tag_only, 0, 6), see, late), match_result::none);
  EXPECT_EQ(count().messages, 2u);
}

// A message that takes another one back has a number, too: its turn follows the turn of the message that it names.
TEST_F(ordered_matching_test, a_message_is_taken_back_by_name_in_its_turn) {
  const auto named = [&](std::uint32_t source, std::uint64_t tag, std::uint32_t sequence, std::uint64_t own) {
    ordered_message& message = messages_.emplace_back();
    name(message, source, tag, sequence);
    message.name = own;
    return arrive(message, match_result::inserted);
  };
  const auto take = [&](std::uint32_t sequence, std::uint64_t whose, match_result expected) {
    ordered_message* found = nullptr;
    matched_messages released;
    const match_key key = make_match_key(1, match_policy::rank_tag, 2, 0);
    EXPECT_EQ(engine_.try_take_back(key, sequence, whose, found, released), expected);
    EXPECT_EQ(released.first, nullptr);
    return found;
  };
  named(2, 0, 0, 10);
  named(2, 1, 1, 11);
  named(2, 1, 2, 12);
  named(1, 1, 0, 13);
  EXPECT_EQ(take(4, 12, match_result::early), nullptr);
  EXPECT_EQ(take(2, 12, match_result::refused), nullptr);
  EXPECT_EQ(take(3, 12, match_result::removed), &messages_[2]);
  EXPECT_EQ(take(4, 12, match_result::removed), nullptr) << "is here no more";
  EXPECT_EQ(take(5, 13, match_result::removed), nullptr) << "is of another source";
  match_node first;
  EXPECT_EQ(post(first, match_policy::rank_tag, 2, 0), &messages_[0]);
  EXPECT_EQ(take(6, 10, match_result::removed), nullptr) << "was matched";
  // It arrives before the message that it takes back, and before the one for which that has waited.
  ordered_message& early = messages_.emplace_back();
  name(early, 2, 0, 9);
  early.name = 14;
  early.takes_back = true;
  EXPECT_TRUE(arrive(early, match_result::inserted).empty());
  named(2, 5, 8, 14);
  match_node second;
  EXPECT_EQ(post(second, match_policy::rank_tag, 2, 7), nullptr);
  const auto released = arrive(2, 7, 7, match_result::matched);
  ASSERT_EQ(released.size(), 3U);
  EXPECT_EQ(released[0]->receive, &second);
  EXPECT_EQ(released[1]->name, 14U);
  EXPECT_EQ(released[1]->receive, nullptr);
  EXPECT_EQ(released[2], &early);
  EXPECT_EQ(early.receive, nullptr);
  EXPECT_EQ(count().early, 0U);
  EXPECT_EQ(count().messages, 2U);
}

TEST_F(ordered_matching_test, a_cancelled_receive_is_not_matched) {
  match_node first;
  match_node second;
  EXPECT_EQ(engine_.remove(first, late), match_result::none);
  post(first, match_policy::none);
  post(second, match_policy::none);
  EXPECT_EQ(engine_.remove(
                first, [](const match_node&) { return false; }, late),
            match_result::none);
  EXPECT_EQ(engine_.remove(first, late), match_result::removed);
  EXPECT_EQ(engine_.remove(first, late), match_result::none);
  EXPECT_EQ(arrive(0, 0, 0, match_result::matched).at(0)->receive, &second);
  EXPECT_EQ(engine_.remove(second, late), match_result::none);
}

TEST_F(ordered_matching_test, another_engine_does_not_cancel_its_receives) {
  ordered_matching other{4};
  match_node receive;
  post(receive, match_policy::none);
  EXPECT_EQ(other.remove(receive, late), match_result::none);
  EXPECT_EQ(engine_.remove(receive, late), match_result::removed);
}

TEST_F(ordered_matching_test, a_message_needs_no_node_if_its_receive_waits_and_its_turn_has_come) {
  match_node first;
  match_node second;
  post(first, match_policy::tag_only, 0, 6);
  post(second, match_policy::none);
  const match_key key = make_match_key(1, match_policy::rank_tag, 2, 6);
  match_node* receive = nullptr;
  matched_messages released;
  EXPECT_EQ(engine_.try_match(key, 1, receive, released), match_result::early);
  arrive(2, 6, 1, match_result::inserted);
  EXPECT_EQ(engine_.try_match(key, 0, receive, released), match_result::matched);
  EXPECT_EQ(receive, &first);
  ASSERT_EQ(released.first, &messages_[0]);
  EXPECT_EQ(released.first->receive, &second);
  EXPECT_EQ(engine_.try_match(key, 2, receive, released), match_result::none);
}

TEST_F(ordered_matching_test, all_that_waits_can_be_taken_out) {
  arrive(0, 1, 0, match_result::inserted);
  arrive(1, 2, 0, match_result::inserted);
  arrive(0, 1, 1, match_result::inserted);
  arrive(0, 3, 4, match_result::inserted);
  arrive(3, 3, 4, match_result::inserted);
  match_node receives[8];
  for (std::uint32_t i = 0; i < 8; ++i) post(receives[i], policies[i % 2], 2, i);
  matched_messages taken;
  match_node* receive = nullptr;
  EXPECT_EQ(engine_.take_all(taken, receive, [](std::uint32_t, std::uint32_t) {}), match_result::removed);
  std::vector<ordered_message*> messages;
  for (ordered_message* each = taken.first; each != nullptr; each = each->next) messages.push_back(each);
  ASSERT_EQ(messages.size(), 5u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(messages[i], &messages_[i]);
  unsigned count = 0;
  for (; receive != nullptr; receive = receive->behind.get()) {
    EXPECT_EQ(engine_.remove(*receive, late), match_result::none);
    ++count;
  }
  EXPECT_EQ(count, 8u);
  EXPECT_EQ(this->count().early + this->count().messages + this->count().receives, 0u);
}

TEST_F(ordered_matching_test, whoever_comes_while_somebody_is_inside_is_told_to_come_back) {
  match_node receive;
  post(receive, match_policy::none);
  const auto inside = [&](const match_node&) {
    ordered_message message;
    name(message, 0, 0, 0);
    ordered_message* found = nullptr;
    match_node* matched = nullptr;
    matched_messages released;
    ordered_counts counts;
    match_node another;
    EXPECT_EQ(engine_.arrive(message, released), match_result::busy);
    EXPECT_EQ(engine_.try_match(message.key, 0, matched, released), match_result::busy);
    EXPECT_EQ(engine_.post(another, found, late), match_result::busy);
    EXPECT_EQ(engine_.take(message.key, found, late), match_result::busy);
    EXPECT_EQ(engine_.remove(receive, late), match_result::busy);
    EXPECT_FALSE(engine_.try_count(counts, late));
    return true;
  };
  EXPECT_EQ(engine_.remove(receive, inside, late), match_result::removed);
}

TEST_F(ordered_matching_test, posts_receives_that_were_left_in_their_order_before_it_is_free) {
  match_node first, second, third, open, later;
  post(first, match_policy::rank_tag, 0, 5);
  arrive(1, 9, 0, match_result::inserted);
  ordered_message* found = nullptr;
  matched_messages released;
  receive_of(second, match_policy::rank_tag, 0, 5);
  receive_of(third, match_policy::rank_only, 0, 0);
  receive_of(open, match_policy::tag_only, 0, 9);
  const auto inside = [&](const match_node&) {
    for (match_node* const each : {&second, &third, &open})
      EXPECT_EQ(engine_.post_or_leave(*each, found, late), match_result::inserted);
    return false;
  };
  EXPECT_EQ(engine_.remove(first, inside, released), match_result::none);
  EXPECT_EQ(found, nullptr);
  ASSERT_NE(released.first, nullptr);
  EXPECT_EQ(released.first->receive, &open);
  EXPECT_EQ(released.first->next, nullptr);
  post(later, match_policy::none);
  EXPECT_EQ(count().receives, 4U);
  for (const match_node* const expected : {&first, &second, &third, &later}) {
    const auto sent = static_cast<std::uint32_t>(4 - count().receives);
    const std::vector<ordered_message*> matched = arrive(0, 5, sent, match_result::matched);
    ASSERT_EQ(matched.size(), 1U);
    EXPECT_EQ(matched.front()->receive, expected);
  }
}

TEST_F(ordered_matching_test, inserts_a_receive_in_one_step_where_that_is_simple) {
  match_node first, second, third;
  ordered_message* found = nullptr;
  receive_of(first, match_policy::rank_tag, 0, 5);
  EXPECT_EQ(engine_.fast_post(first), fast_posted::inserted);
  const auto inside = [&](const match_node&) {
    receive_of(second, match_policy::rank_tag, 0, 5);
    const fast_posted reached = engine_.fast_post(second);
    EXPECT_EQ(reached, fast_posted::no);
    EXPECT_EQ(engine_.post_rest(reached, second, found, late), match_result::busy);
    return false;
  };
  EXPECT_EQ(engine_.remove(first, inside, late), match_result::none);
  ordered_message& waiting = *[&] {
    arrive(1, 7, 0, match_result::inserted);
    return &messages_.back();
  }();
  for (match_node* const each : {&second, &third}) {
    receive_of(*each, match_policy::rank_tag, each == &second ? 1 : 0, 7);
    const fast_posted reached = engine_.fast_post(*each);
    EXPECT_EQ(reached, each == &second ? fast_posted::inside : fast_posted::inserted);
    if (reached == fast_posted::inserted) continue;
    EXPECT_EQ(engine_.post_rest(reached, *each, found, late), match_result::matched);
    EXPECT_EQ(found, &waiting);
  }
  EXPECT_EQ(count().receives, 2U);
}

// Two lists, searched from their starts, and the numbers of early messages.
class reference_engine {
 public:
  explicit reference_engine(std::uint32_t sources, std::uint32_t first_sequence) : next_(sources, first_sequence) {}

  std::vector<ordered_message*> arrive(ordered_message& message) {
    early_.push_back(&message);
    std::vector<ordered_message*> out;
    for (;;) {
      const auto found = std::find_if(early_.begin(), early_.end(), [&](const ordered_message* each) {
        return each->sequence == next_[each->key.rank()];
      });
      if (found == early_.end()) return out;
      ordered_message* now = *found;
      early_.erase(found);
      ++next_[now->key.rank()];
      const auto receive = std::find_if(receives_.begin(), receives_.end(),
                                        [&](const match_node* each) { return fits(each->key, now->key); });
      if (receive == receives_.end()) {
        waiting_.push_back(now);
      } else {
        expected_[now] = *receive;
        receives_.erase(receive);
        out.push_back(now);
      }
    }
  }
  ordered_message* take(const match_key& pattern) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const ordered_message* each) { return fits(pattern, each->key); });
    if (found == waiting_.end()) return nullptr;
    ordered_message* out = *found;
    waiting_.erase(found);
    return out;
  }
  ordered_message* post(match_node& receive) {
    ordered_message* found = take(receive.key);
    if (found == nullptr) receives_.push_back(&receive);
    return found;
  }
  bool remove(const match_node& receive) {
    const auto found = std::find(receives_.begin(), receives_.end(), &receive);
    if (found == receives_.end()) return false;
    receives_.erase(found);
    return true;
  }
  const match_node* receive_of(ordered_message* matched) const { return expected_.at(matched); }
  ordered_counts count() const { return {early_.size(), waiting_.size(), receives_.size()}; }

 private:
  static bool fits(const match_key& receive, const match_key& message) {
    return receive == make_match_key(message.engine(), receive.policy(), message.rank(), message.tag);
  }

  std::vector<std::uint32_t> next_;
  std::deque<ordered_message*> early_;
  std::deque<ordered_message*> waiting_;
  std::deque<match_node*> receives_;
  std::map<ordered_message*, const match_node*> expected_;
};

constexpr std::uint32_t sources = 3;

// Senders, a network that reorders, and receivers, by one random sequence.
class comparison {
 public:
  explicit comparison(std::uint64_t seed)
      : random_{seed},
        first_sequence_{(random_() & 1) != 0 ? 0 : 0u - 500u},
        engine_{sources, first_sequence_},
        reference_{sources, first_sequence_},
        sent_(sources, first_sequence_),
        tags_{1 + random_() % 24},
        window_{1 + random_() % 40},
        wildcards_{random_() % 3} {
    for (ordered_message& each : messages_) free_messages_.push_back(&each);
    for (match_node& each : receives_) free_receives_.push_back(&each);
  }

  void step() {
    const std::uint64_t choice = random_() % 32;
    if (choice < 12) {
      arrive();
    } else if (choice < 24) {
      post();
    } else if (choice < 28) {
      take();
    } else {
      remove();
    }
  }

  void compare_counts() {
    ordered_counts counts;
    ASSERT_TRUE(engine_.try_count(counts, late));
    const ordered_counts expected = reference_.count();
    EXPECT_EQ(counts.early, expected.early);
    EXPECT_EQ(counts.messages, expected.messages);
    EXPECT_EQ(counts.receives, expected.receives);
  }

 private:
  match_key any_pattern() {
    const std::uint64_t chosen = random_() % 4;
    const match_policy policy =
        wildcards_ == 0 || (wildcards_ == 1 && random_() % 4 != 0) ? policies[0] : policies[chosen];
    return make_match_key(1, policy, static_cast<std::uint32_t>(random_() % sources), random_() % tags_);
  }

  // One of the messages in flight; there are `window_` of them while there are free messages.
  ordered_message* next_arrival() {
    while (in_flight_.size() < window_ && !free_messages_.empty()) {
      ordered_message* message = free_messages_.back();
      free_messages_.pop_back();
      const auto source = static_cast<std::uint32_t>(random_() % sources);
      name(*message, source, random_() % tags_, sent_[source]++);
      in_flight_.push_back(message);
    }
    if (in_flight_.empty()) return nullptr;
    std::swap(in_flight_[random_() % in_flight_.size()], in_flight_.back());
    ordered_message* out = in_flight_.back();
    in_flight_.pop_back();
    return out;
  }

  void arrive() {
    ordered_message* message = next_arrival();
    if (message == nullptr) return;
    std::vector<ordered_message*> expected = reference_.arrive(*message);
    const bool is_matched = !expected.empty() && expected.front() == message;
    matched_messages released;
    match_node* receive = nullptr;
    match_result result = match_result::none;
    if ((random_() & 1) != 0) result = engine_.try_match(message->key, message->sequence, receive, released);
    if (result == match_result::matched) {
      ASSERT_TRUE(is_matched);
      ASSERT_EQ(receive, reference_.receive_of(message));
      finish(message, receive);
      expected.erase(expected.begin());
    } else {
      ASSERT_TRUE(result == match_result::none || result == match_result::early);
      ASSERT_EQ(engine_.arrive(*message, released), is_matched ? match_result::matched : match_result::inserted);
    }
    ordered_message* next = released.first;
    for (ordered_message* each : expected) {
      ASSERT_EQ(next, each);
      ASSERT_EQ(next->receive, reference_.receive_of(each));
      next = next->next;
      finish(each, each->receive);
    }
    ASSERT_EQ(next, nullptr);
  }

  void post() {
    if (free_receives_.empty()) return;
    match_node& receive = *free_receives_.back();
    receive.key = any_pattern();
    ordered_message* expected = reference_.post(receive);
    ordered_message* found = nullptr;
    ASSERT_EQ(post(receive, found), expected != nullptr ? match_result::matched : match_result::inserted);
    ASSERT_EQ(found, expected);
    free_receives_.pop_back();
    if (found != nullptr) finish(found, &receive);
  }

  // At once, or in the two steps of the fast path.
  match_result post(match_node& receive, ordered_message*& found) {
    if ((random_() & 1) != 0) return engine_.post(receive, found, late);
    const fast_posted reached = engine_.fast_post(receive, receive.key.policy() != match_policy::rank_tag);
    if (reached == fast_posted::inserted) return match_result::inserted;
    return engine_.post_rest(reached, receive, found, late);
  }

  void take() {
    const match_key pattern = any_pattern();
    ordered_message* expected = reference_.take(pattern);
    ordered_message* found = nullptr;
    ASSERT_EQ(engine_.take(pattern, found, late), expected != nullptr ? match_result::matched : match_result::none);
    ASSERT_EQ(found, expected);
    if (found != nullptr) free_messages_.push_back(found);
  }

  void remove() {
    match_node& chosen = receives_[random_() % receives_.size()];
    const bool expected = reference_.remove(chosen);
    ASSERT_EQ(engine_.remove(chosen, late), expected ? match_result::removed : match_result::none);
    if (expected) free_receives_.push_back(&chosen);
  }

  void finish(ordered_message* message, match_node* receive) {
    free_messages_.push_back(message);
    free_receives_.push_back(receive);
  }

  std::mt19937_64 random_;
  std::uint32_t first_sequence_;
  ordered_matching engine_;
  reference_engine reference_;
  std::vector<std::uint32_t> sent_;
  std::uint64_t tags_;
  std::size_t window_;
  std::uint64_t wildcards_;  // none, some, most
  std::deque<ordered_message> messages_{96};
  std::deque<match_node> receives_{96};
  std::vector<ordered_message*> free_messages_;
  std::vector<match_node*> free_receives_;
  std::vector<ordered_message*> in_flight_;
};

TEST(ordered_matching, does_what_a_plain_sequential_matcher_does) {
  const std::uint64_t seed = weft::test::random_seed();
  SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
  constexpr unsigned rounds = weft::test::under_sanitizer ? 8 : 100;
  for (unsigned round = 0; round < rounds && !::testing::Test::HasFatalFailure(); ++round) {
    comparison compared{seed + round};
    for (unsigned step = 0; step < 20'000 && !::testing::Test::HasFatalFailure(); ++step) compared.step();
    compared.compare_counts();
  }
}

}  // namespace
