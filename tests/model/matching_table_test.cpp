// SPDX-License-Identifier: BSD-3-Clause
// The matching table under the explorer: one thread at a time has a node, its payload arrives with it, and of matching
// and cancelling exactly one happens. And the numbers of an ordered engine's sender.
#include "core/matching/matching_table.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <vector>

#include "core/matching/ordered_numbers.hpp"
#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using weft::match_policy;
using weft::core::make_match_key;
using weft::core::match_key;
using weft::core::match_result;
using weft::core::match_side;

using table = weft::core::basic_matching_table<model_atomics>;
using numbers = weft::core::basic_ordered_numbers<model_atomics>;

// A node with a payload that only its owner may touch.
struct item : table::node {
  std::uint64_t payload = 0;
  std::uint64_t ticket = 0;

  void set(match_side of, std::uint64_t tag, std::uint64_t content) {
    const match_key with = make_match_key(1, match_policy::tag_only, 0, tag);
    model_atomics::write_nonatomic(&key, &with, sizeof with);
    model_atomics::write_nonatomic(&side, &of, sizeof of);
    model_atomics::write_nonatomic(&payload, &content, sizeof content);
  }
  std::uint64_t read() const {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &payload, sizeof out);
    return out;
  }
  void write_ticket(std::uint64_t is) { model_atomics::write_nonatomic(&ticket, &is, sizeof is); }
  std::uint64_t read_ticket() const {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &ticket, sizeof out);
    return out;
  }
};

// The matched item, or null. A receive is inserted in two steps, as the library posts one.
item* insert(table& into, item& mine) {
  table::node* found = nullptr;
  match_result result = match_result::busy;
  match_side side{};
  model_atomics::read_nonatomic(&side, &mine.side, sizeof side);
  if (side == match_side::receive) {
    table::half_done rest;
    if (into.fast_insert(mine, mine.key, rest)) return nullptr;
    result = into.insert_rest(rest, mine, found);
  }
  while (result == match_result::busy) result = into.insert(mine, found);
  check((found != nullptr) == (result == match_result::matched), "matched with nothing");
  return static_cast<item*>(found);
}

match_result remove(table& from, item& which, std::uint64_t ticket) {
  const auto is_meant = [&](const table::node& node) { return static_cast<const item&>(node).read_ticket() == ticket; };
  match_result result = match_result::busy;
  while (result == match_result::busy) result = from.remove(which, is_meant);
  return result;
}

item* take(table& from, std::uint64_t tag) {
  table::node* found = nullptr;
  const match_key key = make_match_key(1, match_policy::tag_only, 0, tag);
  match_result result = match_result::busy;
  while (result == match_result::busy) result = from.take(key, match_side::send, found);
  return static_cast<item*>(found);
}

bool is_empty(table& of) {
  const weft::core::match_counts counts = of.count();
  return counts.sends + counts.receives + counts.spilled_keys + counts.unseen_buckets == 0;
}

void a_send_and_a_receive_meet() {
  kept_until_the_end<table> shared(1u, 1u, 1u);
  item send;
  item receive;
  bool matched[2] = {false, false};
  threads(
      [&] {
        send.set(match_side::send, 7, 11);
        if (item* found = insert(*shared.object, send)) {
          matched[0] = true;
          check(found == &receive && found->read() == 22, "not the receive as it was posted");
          found->set(match_side::receive, 0, 0);
        }
      },
      [&] {
        receive.set(match_side::receive, 7, 22);
        if (item* found = insert(*shared.object, receive)) {
          matched[1] = true;
          check(found == &send && found->read() == 11, "not the message as it was sent");
          found->set(match_side::send, 0, 0);
        }
      });
  check(matched[0] != matched[1], "both matched, or neither");
  check(is_empty(*shared.object), "something is left");
}

// Two send, each twice with one key; a third one receives three of the four.
void the_oldest_come_first() {
  kept_until_the_end<table> shared(1u, 1u, 1u);
  item sends[4];
  item receives[3];
  std::uint64_t last[2] = {0, 0};
  const auto received = [&](std::uint64_t content) {
    check(content / 10 < 2 && content % 10 > last[content / 10], "a message twice, or overtaken");
    last[content / 10] = content % 10;
  };
  unsigned early = 0;
  const auto send = [&](std::uint64_t who) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      item& mine = sends[2 * who + i];
      mine.set(match_side::send, 3, 10 * who + i + 1);
      if (insert(*shared.object, mine) != nullptr) ++early;
    }
  };
  unsigned late = 0;
  threads([&] { send(0); }, [&] { send(1); },
          [&] {
            for (item& mine : receives) {
              mine.set(match_side::receive, 3, 0);
              item* found = insert(*shared.object, mine);
              if (found == nullptr) return;
              received(found->read());
              ++late;
            }
          });
  while (item* left = take(*shared.object, 3)) {
    received(left->read());
    ++late;
  }
  check(early + late == 4, "a message is lost");
}

std::uint32_t location_of_cancelled = 0;  // for the check that is dropped

// The receive is matched, completed, and posted again for something else, while another thread cancels the first.
void matched_or_cancelled() {
  kept_until_the_end<table> shared(1u, 1u, 1u);
  item send;
  item receive;
  receive.set(match_side::receive, 7, 1);
  receive.write_ticket(1);
  check(insert(*shared.object, receive) == nullptr, "matched with nothing there");
  // relaxed: no thread runs yet.
  location_of_cancelled = receive.location.load(std::memory_order_relaxed);
  bool matched = false;
  bool cancelled = false;
  threads(
      [&] {
        send.set(match_side::send, 7, 11);
        item* found = insert(*shared.object, send);
        if (found == nullptr) return;
        matched = true;
        check(found->read() == 1, "not the receive as it was posted");
        found->set(match_side::receive, 8, 2);
        found->write_ticket(2);
        check(insert(*shared.object, *found) == nullptr, "matched with nothing there");
      },
      [&] {
        cancelled = remove(*shared.object, receive, 1) == match_result::removed;
        if (cancelled) receive.set(match_side::receive, 0, 0);
      });
  check(matched != cancelled, "both matched and cancelled, or neither");
  if (matched) check(remove(*shared.object, receive, 2) == match_result::removed, "the second receive is lost");
  if (cancelled) check(take(*shared.object, 7) == &send, "the message is lost");
  check(is_empty(*shared.object), "something is left");
}

// Two cancel one receive, a third one probes for messages of its key.
void cancelled_twice() {
  kept_until_the_end<table> shared(1u, 1u, 1u);
  item receive;
  receive.set(match_side::receive, 7, 1);
  check(insert(*shared.object, receive) == nullptr, "matched with nothing there");
  unsigned cancelled = 0;
  const auto cancel = [&] {
    if (remove(*shared.object, receive, 0) != match_result::removed) return;
    ++cancelled;
    receive.set(match_side::receive, 0, 0);
  };
  threads(cancel, cancel, [&] { check(take(*shared.object, 7) == nullptr, "a receive is taken for a message"); });
  check(cancelled == 1 && is_empty(*shared.object), "cancelled twice, or never");
}

// A bucket that is full: the keys that both threads add are chained through their nodes, and fill the gaps later.
void keys_are_spilled() {
  kept_until_the_end<table> shared(1u, 1u, 1u);
  item sends[5];
  for (std::uint64_t i = 0; i < 5; ++i) sends[i].set(match_side::send, i, 1);
  for (std::uint64_t i = 0; i < 3; ++i) insert(*shared.object, sends[i]);
  const auto work = [&](std::uint64_t mine) {
    check(insert(*shared.object, sends[3 + mine]) == nullptr, "matched with nothing there");
    check(take(*shared.object, mine) == &sends[mine], "a message is lost");
    check(take(*shared.object, 3 + mine) == &sends[3 + mine], "a message is lost");
  };
  threads([&] { work(0); }, [&] { work(1); });
  check(take(*shared.object, 2) == &sends[2], "a message is lost");
  check(is_empty(*shared.object), "something is left");
}

// One looks at the oldest message of a key while another thread receives it, and uses its memory for another one.
void peeked_while_received() {
  kept_until_the_end<table> shared(1u, 1u, 1u);
  item sends[2];
  item receive;
  for (item& each : sends) {
    each.set(match_side::send, 7, 11);
    insert(*shared.object, each);
  }
  threads(
      [&] {
        receive.set(match_side::receive, 7, 22);
        item* const found = insert(*shared.object, receive);
        check(found == &sends[0], "not the oldest message");
        found->set(match_side::send, 8, 33);
        insert(*shared.object, *found);
      },
      [&] {
        std::uint64_t seen = 0;
        const auto see = [&](const table::node& each) { seen = static_cast<const item&>(each).read(); };
        const match_key key = make_match_key(1, match_policy::tag_only, 0, 7);
        match_result result = match_result::busy;
        while (result == match_result::busy) result = shared->peek(key, match_side::send, see);
        check(result == match_result::matched && seen == 11, "not a message of the key");
      });
}

class model_matching_table : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

const search brief{.executions_max = 10000, .random_executions_max = 5000, .deviations_max = 4};

TEST_F(model_matching_table, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"a send and a receive meet", a_send_and_a_receive_meet, brief},
                                      {"the oldest come first", the_oldest_come_first, brief},
                                      {"matched or cancelled", matched_or_cancelled, brief},
                                      {"cancelled twice", cancelled_twice, brief},
                                      {"keys are spilled", keys_are_spilled, brief},
                                      {"peeked while received", peeked_while_received, brief}};
  const std::vector<dropped_check> checks{
      {"matching.still", [](std::uint64_t, std::uint64_t) -> std::uint64_t { return location_of_cancelled; }}};
  const planting_report report = plant_bugs(programs, {"/matching_table.hpp", "/match_bucket.hpp"}, {}, checks);
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

// Cancelling must ask which receive it is: the program would cancel the second one otherwise.
TEST_F(model_matching_table, cancelling_breaks_where_nobody_asks_what_is_meant) {
  const outcome result = explore(brief, [] {
    kept_until_the_end<table> shared(1u, 1u, 1u);
    item send;
    item receive;
    receive.set(match_side::receive, 7, 1);
    insert(*shared.object, receive);
    threads(
        [&] {
          send.set(match_side::send, 7, 11);
          if (insert(*shared.object, send) == nullptr) return;
          receive.set(match_side::receive, 8, 2);
          insert(*shared.object, receive);
          check(shared->remove(receive) != match_result::none, "the second receive is gone");
        },
        [&] { static_cast<void>(shared->remove(receive)); });
  });
  EXPECT_TRUE(result.failed) << result;
}

// The posts of three threads to one target. Each number that was used is used once, and none is left out.
class numbered_posts {
 public:
  numbered_posts() { next_->add_credits(0, most); }
  /// A post that has an operation. `is_refused`: its message finds no room. **Returns** whether the number is used.
  bool post(bool is_refused, bool may_refuse) {
    std::uint32_t number = 0;
    while (!next_->try_take(0, number)) await_change();
    if (is_refused && may_refuse && next_->give_back(0, number)) return false;
    use(number);
    return true;
  }
  /// A post without one.
  bool post_now(bool is_refused) {
    std::uint32_t number = 0;
    if (!next_->try_close(0, number)) return false;
    if (!is_refused) use(number);
    next_->open(0, !is_refused);
    return !is_refused;
  }
  void check_all(unsigned sent) const {
    for (unsigned i = 0; i < most; ++i) check((used_[i] != 0) == (i < sent), "a number is left out");
  }

 private:
  static constexpr std::uint32_t first = 0xffffffff;
  static constexpr unsigned most = 6;

  // Two threads that have one number race here.
  void use(std::uint32_t number) {
    check(number - first < most, "a number that was not next");
    std::uint64_t& word = used_[number - first];
    std::uint64_t before = 0;
    model_atomics::read_nonatomic(&before, &word, sizeof before);
    check(before == 0, "a number twice");
    before = 1;
    model_atomics::write_nonatomic(&word, &before, sizeof before);
  }

  kept_until_the_end<numbers> next_{1u, first};
  std::uint64_t used_[most] = {};
};

// Posts that may not be refused take numbers before there are credits. The numbers with a credit are the oldest ones,
// and each credit is for one number.
void credits_are_for_the_oldest_numbers() {
  constexpr std::uint32_t first = 0xffffffff;
  kept_until_the_end<numbers> next{1u, first};
  std::uint32_t taken[2] = {};
  bool is_refused = false;
  threads([&] { check(next->try_take_owed(0, taken[0]), "closed"); },
          [&] {
            std::uint32_t number = 0;
            is_refused = !next->try_take(0, number);
            taken[1] = number;
            if (is_refused) check(next->try_take_owed(0, taken[1]), "closed");
          },
          [&] { next->add_credits(0, 1); });
  check(taken[0] != taken[1], "a number twice");
  const bool is_first[2] = {next->has_credit_for(0, first), next->has_credit_for(0, first + 1)};
  check(is_first[0] && !is_first[1], "the credit is not for the oldest number");
  check(is_refused || taken[1] == first, "a number was taken with the credit of another one");
  check(next->credits(0) == -1, "a number or a credit is lost");
  next->add_credits(0, 3);
  check(next->credits(0) == 2 && next->has_credit_for(0, first + 1), "credits are lost");
  check(next->take_credits(0) == 2 && next->credits(0) == 0, "credits are lost");
}

void numbers_go_out_once() {
  numbered_posts posts;
  unsigned sent[3] = {};
  threads(
      [&] {
        sent[0] += posts.post(true, true);
        sent[0] += posts.post(false, true);
      },
      [&] {
        sent[1] += posts.post(true, false);
        sent[1] += posts.post(true, true);
      },
      [&] { sent[2] += posts.post(false, false); });
  posts.check_all(sent[0] + sent[1] + sent[2]);
}

void numbers_are_closed_for_one_post() {
  numbered_posts posts;
  unsigned sent[3] = {};
  threads(
      [&] {
        sent[0] += posts.post_now(true);
        sent[0] += posts.post_now(false);
      },
      [&] { sent[1] += posts.post(true, true); },
      [&] {
        sent[2] += posts.post_now(false);
        sent[2] += posts.post(false, false);
      });
  posts.check_all(sent[0] + sent[1] + sent[2]);
}

// One thread posts without an operation, one brings credits, one takes back what is left: none is lost.
void credits_are_kept_while_the_numbers_are_closed() {
  constexpr std::uint32_t first = 0xffffffff;
  kept_until_the_end<numbers> next{1u, first};
  next->add_credits(0, 1);
  std::uint32_t used = 0;
  std::uint32_t taken = 0;
  threads(
      [&] {
        std::uint32_t number = 0;
        if (!next->try_close(0, number)) return;
        next->open(0, true);
        used = 1;
      },
      [&] { next->add_credits(0, 2); }, [&] { taken = next->take_credits(0); });
  check(next->credits(0) + static_cast<std::int32_t>(taken + used) == 3, "a credit is lost, or there twice");
  std::uint32_t number = 0;
  check(next->try_take_owed(0, number) && number == first + used, "a number is left out");
}

TEST_F(model_matching_table, the_numbers_hold_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"once", numbers_go_out_once, brief},
                                      {"closed", numbers_are_closed_for_one_post, brief},
                                      {"credits", credits_are_for_the_oldest_numbers, brief},
                                      {"closed credits", credits_are_kept_while_the_numbers_are_closed, brief}};
  const planting_report report = plant_bugs(programs, {"/ordered_numbers.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
