// SPDX-License-Identifier: BSD-3-Clause
// The credits for numbered messages under the explorer: a sender never has more messages under way than it has credits,
// each credit returns, and a device that asks for a notice gets one.
#include "core/matching/order_credits.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using credits = weft::core::basic_order_credits<model_atomics>;

// Counts wrap around in each program.
constexpr std::uint32_t first = 0xffff'fffe;
constexpr std::uint32_t each = 4;

// A sender and a receiver, as two ranks have them. Rank 0 is the peer.
struct two_sides {
  kept_until_the_end<credits> sender{1u, each, first};
  kept_until_the_end<credits> receiver{1u, each, first};

  // As `numbered_credits::send_notice`, to any device and at once.
  void send_notice() {
    std::uint32_t in_order = 0;
    std::uint64_t devices = 0;
    if (!receiver->next_notice(0, in_order, devices)) return;
    check(sender->on_notice(0, 0, in_order), "a notice is refused");
    receiver->note_sent(0, in_order);
  }
};

// Two threads send, each with as many credits as it gets, while a third puts in order what was sent.
void no_more_are_under_way_than_there_are_credits() {
  two_sides sides;
  model_atomics::atomic<std::uint32_t> sent{0};
  const auto send = [&] {
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t count = sides.sender->take(0, 2);
      check(sides.sender->outstanding(0) <= static_cast<std::int32_t>(each), "more than the credits");
      // [test.sent] release -> [test.arrived]: as a ring publishes a message.
      sent.fetch_add(count, std::memory_order_release);
    }
  };
  threads(send, send, [&] {
    // [test.arrived] acquire <- [test.sent]: as a ring is polled.
    const std::uint32_t count = sent.exchange(0, std::memory_order_acquire);
    if (count != 0 && sides.receiver->put_in_order(0, count)) sides.send_notice();
  });
  // relaxed: no other thread runs.
  const std::uint32_t left = sent.load(std::memory_order_relaxed);
  if (left != 0) static_cast<void>(sides.receiver->put_in_order(0, left));
  sides.send_notice();
  check(sides.sender->outstanding(0) == 0, "a credit is lost");
}

// One thread puts the last messages in order, two handle a request for a notice each.
void who_asks_gets_a_notice() {
  two_sides sides;
  check(sides.sender->take(0, each) == each, "no credits");
  std::uint32_t known = 0;
  check(sides.sender->must_ask(0, 5, known) && known == first, "the device does not ask");
  check(sides.sender->must_ask(0, 6, known), "the device does not ask");
  std::uint64_t got[3] = {};
  const auto look = [&](std::uint64_t& out) {
    std::uint32_t in_order = 0;
    std::uint64_t devices = 0;
    if (!sides.receiver->next_notice(0, in_order, devices)) return;
    if (in_order != first) out |= devices;
    sides.receiver->note_sent(0, in_order);
  };
  threads(
      [&] {
        if (sides.receiver->put_in_order(0, each)) look(got[0]);
      },
      [&] {
        if (sides.receiver->wait_for_notice(0, 5, known)) look(got[1]);
      },
      [&] {
        if (sides.receiver->wait_for_notice(0, 6, known)) look(got[2]);
      });
  check((got[0] | got[1] | got[2]) == (std::uint64_t{1} << 5 | std::uint64_t{1} << 6), "a device gets no notice");
}

// Notices overtake each other; the newest one counts. One that says more than was sent is refused.
void old_and_false_notices_give_nothing() {
  two_sides sides;
  check(sides.sender->take(0, 3) == 3, "no credits");
  bool is_taken[3] = {};
  threads([&] { is_taken[0] = sides.sender->on_notice(0, 0, first + 2); },
          [&] { is_taken[1] = sides.sender->on_notice(0, 1, first + 1); },
          [&] { is_taken[2] = sides.sender->on_notice(0, 2, first + 4); });
  check(is_taken[0] && is_taken[1] && !is_taken[2], "a notice is refused, or a false one is not");
  check(sides.sender->outstanding(0) == 1, "an old or a false notice counts");
  sides.sender->put_back(0, 1);
  check(sides.sender->outstanding(0) == 0, "a credit is lost");
  sides.sender->put_back(0, -2);
  check(sides.sender->outstanding(0) == 2, "a number without a credit is not counted");
}

// Threads ask by different devices, owe notices to different ones, and count: nothing is lost.
void nothing_is_lost_between_threads() {
  two_sides sides;
  credits& here = *sides.receiver.object;
  std::uint32_t known = 0;
  const auto ask_and_owe = [&](std::uint32_t device) {
    std::uint32_t mine = 0;
    check(here.must_ask(0, device, mine), "a device may not ask");
    here.owe(0, std::uint64_t{1} << device);
    static_cast<void>(here.put_in_order(0, 1));
  };
  threads([&] { ask_and_owe(1); }, [&] { ask_and_owe(2); },
          [&] {
            check(here.must_ask(0, 4, known) && here.on_notice(0, 4, first), "a device may not ask");
            check(here.must_ask(0, 5, known), "a device may not ask");
            here.unask(0, 5);
            static_cast<void>(here.wait_for_notice(0, 3, first - 1));
            here.count_later(0);
          });
  for (const std::uint32_t device : {1U, 2U}) check(!here.must_ask(0, device, known), "a request is forgotten");
  for (const std::uint32_t device : {4U, 5U}) check(here.must_ask(0, device, known), "a device may not ask again");
  std::uint32_t in_order = 0;
  std::uint64_t devices = 0;
  check(here.next_notice(0, in_order, devices), "no notice is due");
  check(in_order == first + 1, "a message is not counted");
  check(devices == 0b1110, "a device gets no notice");
}

// Notices are sent, and credits taken and put back, by several threads.
void the_last_notice_counts() {
  two_sides sides;
  check(sides.sender->take(0, 2) == 2, "no credits");
  static_cast<void>(sides.receiver->put_in_order(0, 3));
  threads([&] { sides.receiver->note_sent(0, first + 3); }, [&] { sides.receiver->note_sent(0, first + 1); },
          [&] { sides.sender->put_back(0, 1); }, [&] { static_cast<void>(sides.sender->take(0, 1)); });
  check(sides.sender->outstanding(0) == 2, "a credit is lost");
  check(!sides.receiver->has_notice(0), "an old notice counts");
}

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 4};

class model_order_credits : public testing::Test {};

TEST_F(model_order_credits, hold_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{
      {"under way", no_more_are_under_way_than_there_are_credits, brief},
      {"asking", who_asks_gets_a_notice, brief},
      {"notices", old_and_false_notices_give_nothing, brief},
      {"lost", nothing_is_lost_between_threads, brief},
      {"last notice", the_last_notice_counts, brief},
  };
  // Of an exchange the explorer knows no stale value, so all of them are in one order here, whatever theirs is.
  const char* const why = "exchanges of two words are in one order here";
  const planting_report report = plant_bugs(programs, {"/order_credits.hpp"},
                                            {{"credits.in_order", bug::drop_acquire, why},
                                             {"credits.in_order", bug::drop_release, why},
                                             {"credits.wait", bug::drop_acquire, why},
                                             {"credits.wait", bug::drop_release, why}});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
