// SPDX-License-Identifier: BSD-3-Clause
// The ordered engine under the explorer: messages come early, receives leave rank and tag open, one is cancelled while
// it is matched, the engine is withdrawn; and the numbers that its senders give.
#include "core/matching/ordered_matching.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <iterator>
#include <vector>

#include "core/matching/ordered_numbers.hpp"
#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using weft::match_policy;
using weft::core::make_match_key;
using weft::core::match_result;

using engine = weft::core::basic_ordered_matching<model_atomics>;
using numbers = weft::core::basic_ordered_numbers<model_atomics>;
using shared_engine = kept_until_the_end<engine>;

// A node with a payload that only its owner may touch.
template <class Node>
struct item : Node {
  std::uint64_t payload = 0;

  void write(std::uint64_t is) { model_atomics::write_nonatomic(&payload, &is, sizeof is); }
  std::uint64_t read() const {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &payload, sizeof out);
    return out;
  }
};

struct message : item<engine::message_node> {
  void is(std::uint32_t source, std::uint64_t tag, std::uint32_t number, std::uint64_t content) {
    side = weft::core::match_side::send;
    key = make_match_key(1, match_policy::rank_tag, source, tag);
    sequence = number;
    write(content);
  }
};

// The payload is the receive as it was posted: a thread that reposts it changes that.
struct receive : item<engine::node> {
  void is(match_policy policy, std::uint32_t source, std::uint64_t tag, std::uint64_t content) {
    key = make_match_key(1, policy, source, tag);
    write(content);
  }
};

struct pair {
  message* sent = nullptr;
  receive* got = nullptr;
};

// Of calls beside which no receive is left with the lock.
engine::message_list none;

// Those of a thread. Without memory of its own: executions that fail leave it as it is.
class pair_list {
 public:
  void add(pair one) {
    check(size_ < std::size(pairs_), "more is matched than there is");
    pairs_[size_++] = one;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const pair* begin() const { return pairs_; }
  [[nodiscard]] const pair* end() const { return pairs_ + size_; }
  [[nodiscard]] const pair& last() const { return pairs_[size_ - 1]; }

 private:
  pair pairs_[4];
  std::size_t size_ = 0;
};

// Repeats a call that was in another thread's way.
template <class Call>
match_result insist(Call&& call) {
  for (;;) {
    const match_result result = call();
    if (result != match_result::busy) return result;
    await_change();
  }
}

// Adds the messages of `released` to the pairs of the thread, which owns all of them.
void add_released(const engine::message_list& released, pair_list& out) {
  for (auto* each = released.first; each != nullptr; each = each->next) {
    check(each->receive != nullptr, "a message was released without a receive");
    out.add({static_cast<message*>(each), static_cast<receive*>(each->receive)});
    static_cast<void>(out.last().sent->read());
    static_cast<void>(out.last().got->read());
  }
}

match_result arrive(engine& at, message& mine, pair_list& out) {
  engine::message_list released;
  const match_result result = insist([&] { return at.arrive(mine, released); });
  add_released(released, out);
  check(result != match_result::matched || released.first == &mine, "not what was matched comes first");
  return result;
}

// As an arriving message does it: without a node where a receive waits.
void arrive_without_a_node(engine& at, message& mine, pair_list& out) {
  engine::message_list released;
  engine::node* found = nullptr;
  const match_result result = insist([&] { return at.try_match(mine.key, mine.sequence, found, released); });
  check((found != nullptr) == (result == match_result::matched), "matched with nothing");
  if (found != nullptr) {
    out.add({&mine, static_cast<receive*>(found)});
    static_cast<void>(out.last().got->read());
  }
  add_released(released, out);
  if (result == match_result::none || result == match_result::early) {
    check(arrive(at, mine, out) != match_result::refused, "a message in its turn is refused");
  } else {
    check(result == match_result::matched, "a message in its turn is refused");
  }
}

void add_found(match_result result, engine::message_node* found, receive& mine, pair_list& out) {
  check((found != nullptr) == (result == match_result::matched), "matched with nothing");
  if (found == nullptr) return;
  check(found->receive == &mine, "matched with another one");
  out.add({static_cast<message*>(found), &mine});
  static_cast<void>(out.last().sent->read());
}

void post(engine& at, receive& mine, pair_list& out) {
  engine::message_node* found = nullptr;
  engine::message_list released;
  const match_result result = insist([&] { return at.post(mine, found, released); });
  add_found(result, found, mine, out);
  add_released(released, out);
}

// As a post that may not be refused: the thread inside may post it.
void post_or_leave(engine& at, receive& mine, pair_list& out) {
  engine::message_node* found = nullptr;
  engine::message_list released;
  const match_result result = at.post_or_leave(mine, found, released);
  check(result != match_result::busy, "it was refused");
  add_found(result, found, mine, out);
  add_released(released, out);
}

// As the fast path posts a receive.
void post_in_two_steps(engine& at, receive& mine, pair_list& out) {
  engine::message_node* found = nullptr;
  engine::message_list released;
  const match_result result = insist([&] {
    const weft::core::fast_posted reached = at.fast_post(mine, mine.key.policy() != match_policy::rank_tag);
    return reached == weft::core::fast_posted::inserted ? match_result::inserted
                                                        : at.post_rest(reached, mine, found, released);
  });
  add_found(result, found, mine, out);
  add_released(released, out);
}

void check_empty(engine& at) {
  weft::core::ordered_counts left;
  engine::message_list released;
  check(at.try_count(left, released) && left.early + left.messages + left.receives == 0, "something is left");
}

// Each of the pairs once, and the `i`th message with the `i`th receive.
template <std::size_t Count>
void check_in_order(const pair_list (&by_thread)[Count], const message* messages, const receive* receives,
                    std::size_t expected) {
  std::uint64_t seen = 0;
  std::size_t count = 0;
  for (const auto& pairs : by_thread) {
    for (const pair& each : pairs) {
      const auto index = static_cast<std::size_t>(each.sent - messages);
      check(index == static_cast<std::size_t>(each.got - receives), "a message was overtaken");
      check((seen >> index & 1) == 0, "a message was matched twice");
      seen |= std::uint64_t{1} << index;
      ++count;
    }
  }
  check(count == expected, "a message is lost");
}

// Two of one source arrive concurrently, and the third, while one posts for any tag of it.
void early_ones_wait_for_their_turn() {
  shared_engine shared(1u, 0xffff'ffffu);
  message sent[3];
  receive posted[3];
  pair_list pairs[3];
  for (std::uint32_t i = 0; i < 3; ++i) sent[i].is(0, i, 0xffff'ffffu + i, i);
  threads(
      [&] {
        arrive_without_a_node(*shared.object, sent[1], pairs[0]);
        arrive_without_a_node(*shared.object, sent[0], pairs[0]);
      },
      [&] { arrive_without_a_node(*shared.object, sent[2], pairs[1]); },
      [&] {
        for (std::uint64_t i = 0; i < 3; ++i) {
          posted[i].is(match_policy::rank_only, 0, 0, i);
          post(*shared.object, posted[i], pairs[2]);
        }
      });
  check_in_order(pairs, sent, posted, 3);
  check_empty(*shared.object);
}

// Receives of every policy fit both messages; the older message takes the older receive, whatever they leave open.
void wildcards_keep_the_order() {
  shared_engine shared(2u, 0u);
  message sent[2];
  receive posted[2];
  pair_list pairs[2];
  threads(
      [&] {
        posted[0].is(match_policy::none, 0, 0, 0);
        post(*shared.object, posted[0], pairs[0]);
        posted[1].is(match_policy::tag_only, 0, 5, 1);
        post(*shared.object, posted[1], pairs[0]);
      },
      [&] {
        sent[0].is(1, 5, 0, 0);
        arrive_without_a_node(*shared.object, sent[0], pairs[1]);
        sent[1].is(1, 5, 1, 1);
        arrive_without_a_node(*shared.object, sent[1], pairs[1]);
      });
  check_in_order(pairs, sent, posted, 2);
  check_empty(*shared.object);
}

// The first receive leaves rank and tag open and may wait alone; a message may come, another receive is posted behind
// it by the fast path, too, and the first one may be cancelled meanwhile.
void an_open_receive_waits_alone() {
  shared_engine shared(2u, 0u);
  message sent[2];
  receive posted[2];
  pair_list pairs[2];
  bool is_cancelled = false;
  threads(
      [&] {
        posted[0].is(match_policy::none, 0, 0, 0);
        post_in_two_steps(*shared.object, posted[0], pairs[0]);
        posted[1].is(match_policy::rank_tag, 1, 5, 1);
        post_in_two_steps(*shared.object, posted[1], pairs[0]);
        engine::message_list released;
        is_cancelled = insist([&] { return shared.object->remove(posted[0], released); }) == match_result::removed;
        add_released(released, pairs[0]);
      },
      [&] {
        for (std::uint32_t i = 0; i < 2; ++i) {
          sent[i].is(1, 5, i, i);
          arrive_without_a_node(*shared.object, sent[i], pairs[1]);
        }
      });
  unsigned count = 0;
  for (const auto& each : pairs) {
    for (const pair& one : each) {
      ++count;
      const auto expected = static_cast<std::uint64_t>(one.sent - sent) + (is_cancelled ? 1 : 0);
      check(one.got->read() == expected, "a receive overtakes another one");
    }
  }
  check(count == (is_cancelled ? 1 : 2), "a message is lost, or matched twice");
  weft::core::ordered_counts left;
  engine::message_list released;
  check(shared.object->try_count(left, released), "it is busy");
  check(left.receives == 0 && left.messages == (is_cancelled ? 1 : 0), "something is left");
  if (!is_cancelled) return;
  engine::message_node* found = nullptr;
  check(shared.object->take(make_match_key(1, match_policy::none, 0, 0), found, released) == match_result::matched,
        "the other message does not wait");
}

// Two sources with one tag, two receives that leave open which: each message has a receive of its own.
void messages_of_two_sources_meet_two_receives() {
  shared_engine shared(2u, 0u);
  message sent[2];
  receive posted[2];
  pair_list pairs[3];
  const auto send = [&](std::uint32_t from) {
    sent[from].is(from, 5, 0, from);
    arrive_without_a_node(*shared.object, sent[from], pairs[from]);
  };
  threads([&] { send(0); }, [&] { send(1); },
          [&] {
            for (std::uint64_t i = 0; i < 2; ++i) {
              posted[i].is(i == 0 ? match_policy::tag_only : match_policy::none, 0, 5, i);
              post(*shared.object, posted[i], pairs[2]);
            }
          });
  unsigned seen[2] = {0, 0};
  for (const auto& each : pairs) {
    for (const pair& one : each) ++seen[one.sent - sent], check(one.got->read() < 2, "a receive from nowhere");
  }
  check(seen[0] == 1 && seen[1] == 1, "a message is lost, or matched twice");
  check_empty(*shared.object);
}

std::uint32_t number_of_engine = 0;  // for the check that is dropped

// One cancels the first of two receives, twice as a loser would; a message takes whichever is the oldest then.
void matched_or_cancelled() {
  shared_engine shared(1u, 0u);
  message sent;
  receive posted[2];
  pair_list pairs[2];
  for (std::uint64_t i = 0; i < 2; ++i) {
    posted[i].is(match_policy::rank_tag, 0, 7, i);
    post(*shared.object, posted[i], pairs[0]);
  }
  // relaxed: no thread runs yet.
  number_of_engine = posted[0].location.load(std::memory_order_relaxed);
  bool cancelled = false;
  threads(
      [&] {
        sent.is(0, 7, 0, 11);
        arrive_without_a_node(*shared.object, sent, pairs[0]);
      },
      [&] {
        const auto cancel = [&] { return shared->remove(posted[0], none); };
        cancelled = insist(cancel) == match_result::removed;
        if (!cancelled) return;
        posted[0].write(99);
        check(insist(cancel) == match_result::none, "cancelled twice");
      });
  check(pairs[0].size() == 1, "the message found no receive");
  check((pairs[0].last().got == &posted[0]) != cancelled, "both matched and cancelled, or neither");
  check(pairs[0].last().got->read() != 99, "a cancelled receive was matched");
  if (!cancelled) check(shared->remove(posted[1], none) == match_result::removed, "the other receive is lost");
  check_empty(*shared.object);
}

// A thread matches the receive and posts it for something else, while another one cancels the first.
void only_what_is_meant_is_cancelled() {
  shared_engine shared(1u, 0u);
  message sent;
  receive posted;
  pair_list pairs;
  posted.is(match_policy::none, 0, 0, 1);
  post(*shared.object, posted, pairs);
  bool cancelled = false;
  threads(
      [&] {
        sent.is(0, 7, 0, 11);
        arrive_without_a_node(*shared.object, sent, pairs);
        if (pairs.size() == 0) return;
        posted.is(match_policy::rank_only, 0, 0, 2);
        post(*shared.object, posted, pairs);
      },
      [&] {
        const auto is_meant = [&](const engine::node& node) { return static_cast<const receive&>(node).read() == 1; };
        cancelled = insist([&] { return shared->remove(posted, is_meant, none); }) == match_result::removed;
        if (cancelled) posted.write(0);
      });
  check((pairs.size() == 0) == cancelled, "both matched and cancelled, or neither");
  if (!cancelled) check(shared->remove(posted, none) == match_result::removed, "the second receive is lost");
  engine::message_node* found = nullptr;
  const auto pattern = make_match_key(1, match_policy::none, 0, 0);
  if (cancelled)
    check(shared->take(pattern, found, none) == match_result::matched && found == &sent, "the message is lost");
  check_empty(*shared.object);
}

// The engine is withdrawn while a message and a matching receive come to it: each is given to one thread, once.
void withdrawn_while_in_use() {
  shared_engine shared(1u, 0u);
  message sent[2];
  receive posted;
  pair_list pairs[2];
  engine::message_list messages;
  engine::node* receives = nullptr;
  const auto take_all = [&] { return shared->take_all(messages, receives, [](std::uint32_t, std::uint32_t) {}); };
  threads(
      [&] {
        sent[1].is(0, 7, 1, 1);  // an early one
        arrive_without_a_node(*shared.object, sent[1], pairs[0]);
        sent[0].is(0, 8, 0, 0);
        arrive_without_a_node(*shared.object, sent[0], pairs[0]);
      },
      [&] {
        posted.is(match_policy::none, 0, 0, 1);
        post(*shared.object, posted, pairs[1]);
      },
      [&] { insist(take_all); });
  insist(take_all);
  std::size_t of_messages = pairs[0].size() + pairs[1].size();
  std::size_t of_receives = of_messages;
  for (auto* each = messages.first; each != nullptr; each = each->next, ++of_messages) {
    static_cast<void>(static_cast<message*>(each)->read());
  }
  for (auto* each = receives; each != nullptr; each = each->behind.get(), ++of_receives) {
    static_cast<void>(static_cast<receive*>(each)->read());
  }
  check(of_messages == 2 && of_receives == 1, "something is lost, or there twice");
  check_empty(*shared.object);
}

// Senders take a number each; one message finds no room at first, and its sender gives the number back if it can.
// Messages arrive in any order and are received in the order of their numbers. `used_in_vain`: the bug that a number is
// not given back, and used by no message.
void numbered_and_matched(bool used_in_vain) {
  constexpr std::uint32_t first = 0xffff'ffff;
  shared_engine shared(1u, first);
  kept_until_the_end<numbers> next(1u, first);
  next->add_credits(0, 3);
  message sent[3];
  receive posted[3];
  pair_list pairs[3];
  const auto send = [&](bool is_refused, pair_list& out) {
    std::uint32_t number = 0;
    while (!next->try_take(0, number)) await_change();
    if (is_refused && (used_in_vain || next->give_back(0, number))) {
      while (!next->try_take(0, number)) await_change();
    }
    const std::uint32_t index = number - first;
    check(index < 3, "a number is left out");
    sent[index].is(0, 1, number, index);
    arrive_without_a_node(*shared.object, sent[index], out);
  };
  threads([&] { send(true, pairs[0]); },
          [&] {
            send(false, pairs[1]);
            send(false, pairs[1]);
          },
          [&] {
            for (std::uint64_t i = 0; i < 3; ++i) {
              posted[i].is(match_policy::rank_tag, 0, 1, i);
              post(*shared.object, posted[i], pairs[2]);
            }
          });
  check_in_order(pairs, sent, posted, 3);
  check_empty(*shared.object);
}

// Two receives that may not be refused and one that may, of one thread, while messages arrive: each receive has the
// place of its post.
void left_receives_keep_their_places() {
  shared_engine shared(1u, 0u);
  message sent[3];
  receive posted[3];
  pair_list pairs[3];
  threads(
      [&] {
        for (std::uint64_t i = 0; i < 3; ++i) {
          posted[i].is(i == 1 ? match_policy::rank_only : match_policy::rank_tag, 0, 1, i);
          if (i < 2)
            post_or_leave(*shared.object, posted[i], pairs[0]);
          else
            post_in_two_steps(*shared.object, posted[i], pairs[0]);
        }
      },
      [&] {
        for (std::uint32_t i = 0; i < 2; ++i) {
          sent[i].is(0, 1, i, i);
          arrive_without_a_node(*shared.object, sent[i], pairs[1]);
        }
      },
      [&] {
        sent[2].is(0, 1, 2, 2);
        arrive_without_a_node(*shared.object, sent[2], pairs[2]);
      });
  check_in_order(pairs, sent, posted, 3);
  check_empty(*shared.object);
}

class model_ordered_matching : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

const search brief{.executions_max = 40000, .random_executions_max = 10000, .deviations_max = 4};

TEST_F(model_ordered_matching, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{
      {"early ones wait for their turn", early_ones_wait_for_their_turn, brief},
      {"wildcards keep the order", wildcards_keep_the_order, brief},
      {"an open receive waits alone", an_open_receive_waits_alone, brief},
      {"messages of two sources", messages_of_two_sources_meet_two_receives, brief},
      {"matched or cancelled", matched_or_cancelled, brief},
      {"only what is meant is cancelled", only_what_is_meant_is_cancelled, brief},
      {"withdrawn while in use", withdrawn_while_in_use, brief},
      {"numbered and matched", [] { numbered_and_matched(false); }, brief},
      {"left receives keep their places", left_receives_keep_their_places, brief},
  };
  const std::vector<dropped_check> checks{
      {"ordered.still", [](std::uint64_t, std::uint64_t) -> std::uint64_t { return number_of_engine; }}};
  const planting_report report =
      plant_bugs(programs, {"/ordered_matching.hpp", "/posted_receives.hpp", "/handover_lock.hpp"}, {}, checks);
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

TEST_F(model_ordered_matching, a_number_that_is_used_in_vain_is_noticed) {
  const outcome result = explore(brief, [] { numbered_and_matched(true); });
  EXPECT_TRUE(result.failed) << result;
}

// The thread that cancels must name the receive: the program would cancel the second one otherwise.
TEST_F(model_ordered_matching, cancelling_breaks_where_nobody_asks_what_is_meant) {
  const outcome result = explore(brief, [] {
    shared_engine shared(1u, 0u);
    message sent;
    receive posted;
    pair_list pairs;
    posted.is(match_policy::none, 0, 0, 1);
    post(*shared.object, posted, pairs);
    threads(
        [&] {
          sent.is(0, 7, 0, 11);
          arrive_without_a_node(*shared.object, sent, pairs);
          if (pairs.size() == 0) return;
          posted.is(match_policy::rank_only, 0, 0, 2);
          post(*shared.object, posted, pairs);
          check(insist([&] { return shared->remove(posted, none); }) == match_result::removed,
                "the second receive is gone");
        },
        [&] { insist([&] { return shared->remove(posted, none); }); });
  });
  EXPECT_TRUE(result.failed) << result;
}

// Two senders that do not lock the next number may both have it: a message is refused, or received twice.
TEST_F(model_ordered_matching, numbers_that_are_taken_without_the_lock_are_given_twice) {
  const outcome result = explore(brief, [] {
    shared_engine shared(1u, 0u);
    message sent[2];
    receive posted[2];
    pair_list pairs[3];
    model_atomics::atomic<std::uint32_t> next{0};
    const auto send = [&](pair_list& out) {
      // relaxed: planted, as if the lock were not needed.
      const std::uint32_t number = next.load(std::memory_order_relaxed);
      next.store(number + 1, std::memory_order_relaxed);
      sent[number].is(0, 1, number, number);
      arrive_without_a_node(*shared.object, sent[number], out);
    };
    threads([&] { send(pairs[0]); }, [&] { send(pairs[1]); },
            [&] {
              for (std::uint64_t i = 0; i < 2; ++i) {
                posted[i].is(match_policy::rank_tag, 0, 1, i);
                post(*shared.object, posted[i], pairs[2]);
              }
            });
    check_in_order(pairs, sent, posted, 2);
  });
  EXPECT_TRUE(result.failed) << result;
}

}  // namespace
