// SPDX-License-Identifier: BSD-3-Clause
// The looker of a device and the threads that sleep beside it, under the explorer: a looker that leaves, by whatever
// end of its wait, hands its part on, and no thread sleeps through a message or a signal.
#include "core/wait/lookers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <mutex>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using lookers = weft::core::basic_lookers<model_atomics, 2>;
using word = lookers::word;

class model_lookers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// Two devices, to which messages for sleepers come; most programs use the first one alone.
struct house {
  struct sleeper {
    lookers::seat seat;
    std::uint32_t via = 0;
    atomic<std::uint32_t> delivered{0};  // messages for it: as the signals of its object
  };

  house() {
    all.use(words.data());
    for (std::uint32_t index = 0; index < sleepers.size(); ++index) {
      use(index, 0b01, 0);
      sleepers[index].seat.doorbell = &words[word::doorbells_begin + index];
    }
  }

  // The sleeper waits through `devices`, a bit each; messages for it come to the device `via`.
  void use(std::uint32_t index, std::uint64_t devices, std::uint32_t via) {
    sleepers[index].seat.homes = sleepers[index].seat.devices = devices;
    sleepers[index].via = via;
  }

  // What the membarrier makes of a plain point in every other thread: all fences have one order.
  void fence() {
    // [model_lookers.fence] acq_rel <-> [model_lookers.fence]: all that was done before earlier fences.
    fences.fetch_add(1, std::memory_order_acq_rel);
  }
  void wake_named(std::uint32_t device = 0) {
    words[device].wake_named([](word& doorbell) { doorbell.end_sleep(); });
  }

  // A peer sends one message to each of these sleepers.
  void send(std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t index = first; index < end; ++index) {
      // [model_lookers.send] release -> [model_lookers.poll]: as a ring publishes.
      sent[index].store(1, std::memory_order_release);
      fence();
      const std::uint32_t device = sleepers[index].via;
      if (words[device].is_left_asleep()) wake_named(device);
    }
  }
  // Any thread of the process polls these devices: it takes the messages, and signals the sleepers' objects.
  bool poll(std::uint64_t devices) {
    bool has_moved = false;
    for (std::uint32_t index = 0; index < sleepers.size(); ++index) {
      if ((devices & lookers::bit_of(sleepers[index].via)) == 0) continue;
      // [model_lookers.poll] acquire <- [model_lookers.send]: as a ring is polled.
      if (sent[index].load(std::memory_order_acquire) == 0) continue;
      if (sent[index].exchange(0, std::memory_order_relaxed) == 0) continue;  // relaxed: another thread has taken it
      has_moved = true;
      // relaxed: ordered by the lock, or the doorbell.
      sleepers[index].delivered.fetch_add(1, std::memory_order_relaxed);
      signal(index);
    }
    return has_moved;
  }
  // As `parking::wake`; the count of sleepers by their objects is another part.
  void signal(std::uint32_t index) {
    const std::scoped_lock lock{list_lock};
    lookers::seat& seat = sleepers[index].seat;
    if (is_in_list[index] && all.try_wake(seat)) seat.doorbell->end_sleep();
  }
  bool is_done(std::uint32_t index) const {
    // relaxed: ordered by the lock, or the doorbell.
    return sleepers[index].delivered.load(std::memory_order_relaxed) != 0;
  }

  void leave(std::uint32_t index) {
    std::uint64_t handed = 0;
    {
      const std::scoped_lock lock{list_lock};
      handed = all.leave(sleepers[index].seat);
      is_in_list[index] = false;
    }
    if (handed == 0) return;
    fence();
    if (!poll(handed)) return;
    for (std::uint32_t device = 0; device < 2; ++device) {
      if ((handed & lookers::bit_of(device)) != 0) wake_named(device);
    }
  }
  // As `parking::wait`, which sleeps as soon as it may. `sleeps_max`: the wait has a limit, or its condition throws.
  void wait(std::uint32_t index, std::uint32_t sleeps_max = 100) {
    lookers::seat& seat = sleepers[index].seat;
    {
      const std::scoped_lock lock{list_lock};
      all.enter(seat);
      is_in_list[index] = true;
    }
    for (std::uint32_t count = 0; count < sleeps_max && !is_done(index); ++count) {
      sleep(index);
      if (!is_done(index)) poll(seat.devices);
    }
    leave(index);
  }
  void sleep(std::uint32_t index) {
    lookers::seat& seat = sleepers[index].seat;
    std::uint32_t mark = 0;
    std::uint64_t duty = 0;
    {
      const std::scoped_lock lock{list_lock};
      duty = all.fall_asleep(seat, mark);
    }
    fence();
    const bool has_moved = duty != 0 && poll(duty);
    // relaxed: the system's sleep, which begins only while the word is as expected.
    while (!has_moved && !is_done(index) && seat.doorbell->value.load(std::memory_order_relaxed) == mark)
      await_change();
    lookers::wake_up(seat);
  }

  std::array<word, word::doorbells_begin + 2> words;
  std::array<sleeper, 2> sleepers;
  std::array<atomic<std::uint32_t>, 2> sent;
  atomic<std::uint32_t> fences{0};
  mutex list_lock;
  lookers all;
  std::array<bool, 2> is_in_list{};
};

void one_waits() {
  house made;
  threads([&] { made.send(0, 1); }, [&] { made.wait(0); });
}

// Each gets a message, one after the other: the first that is done hands the looking on.
void two_wait() {
  house made;
  threads([&] { made.send(0, 2); }, [&] { made.wait(0); }, [&] { made.wait(1); });
}

// The looker leaves without its message.
void a_looker_gives_up() {
  house made;
  threads([&] { made.send(0, 1); }, [&] { made.wait(0); }, [&] { made.wait(1, 0); });
}

// The looker that leaves without its message has slept, and its doorbell is named when the message comes.
void a_sleeping_looker_gives_up() {
  house made;
  {
    const std::scoped_lock lock{made.list_lock};
    made.all.enter(made.sleepers[1].seat);
    std::uint32_t mark = 0;
    check(made.all.fall_asleep(made.sleepers[1].seat, mark) == 1, "the first is not the looker");
    made.is_in_list[1] = true;
  }
  threads([&] { made.send(0, 1); }, [&] { made.wait(0); },
          [&] {
            lookers::wake_up(made.sleepers[1].seat);  // its time is over
            made.leave(1);
          });
}

// The looker is awake, and has another thread sleep beside it.
void an_awake_looker_leaves() {
  house made;
  made.sleepers[0].seat.has_slept = true;
  {
    const std::scoped_lock lock{made.list_lock};
    made.all.enter(made.sleepers[1].seat);
    std::uint32_t mark = 0;
    check(made.all.fall_asleep(made.sleepers[1].seat, mark) == 1, "the first is not the looker");
    lookers::wake_up(made.sleepers[1].seat);
    made.is_in_list[1] = true;
  }
  made.words[0].take_back();
  threads([&] { made.send(0, 1); }, [&] { made.wait(0); }, [&] { made.leave(1); });
}

// The message comes to the second of the thread's devices.
void one_waits_through_two() {
  house made;
  made.use(0, 0b11, 1);
  threads([&] { made.send(0, 1); }, [&] { made.wait(0); });
}

// One waits through both devices and one through the second alone, where the messages for both come: whichever looks
// there, the other one is woken, also if the first has to look at the other device.
void one_of_two_waits_through_two() {
  house made;
  made.use(0, 0b11, 1);
  made.use(1, 0b10, 1);
  threads([&] { made.send(0, 2); }, [&] { made.wait(0); }, [&] { made.wait(1); });
}

// The thread that waits through both leaves, and hands the looking on at the device that the other one shares.
void a_looker_at_two_gives_up() {
  house made;
  made.use(0, 0b10, 1);
  made.use(1, 0b11, 1);
  {
    const std::scoped_lock lock{made.list_lock};
    made.all.enter(made.sleepers[1].seat);
    std::uint32_t mark = 0;
    check(made.all.fall_asleep(made.sleepers[1].seat, mark) == 0b11, "the first is not the looker at both");
    made.is_in_list[1] = true;
  }
  threads([&] { made.send(0, 1); }, [&] { made.wait(0); },
          [&] {
            lookers::wake_up(made.sleepers[1].seat);  // its time is over
            made.leave(1);
          });
}

TEST_F(model_lookers, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"one waits", one_waits},
                                      {"two wait", two_wait},
                                      {"a looker gives up", a_looker_gives_up},
                                      {"a sleeping looker gives up", a_sleeping_looker_gives_up},
                                      {"an awake looker leaves", an_awake_looker_leaves},
                                      {"one waits through two devices", one_waits_through_two},
                                      {"one of two waits through two devices", one_of_two_waits_through_two},
                                      {"a looker at two devices gives up", a_looker_at_two_gives_up}};
  const planting_report report = plant_bugs(programs, {"/lookers.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

TEST_F(model_lookers, the_last_thread_looks_and_hands_back) {
  house made;
  lookers::seat& first = made.sleepers[0].seat;
  lookers::seat& last = made.sleepers[1].seat;
  std::uint32_t mark = 0;
  made.all.enter(first);
  EXPECT_EQ(made.all.fall_asleep(first, mark), 1U);
  made.all.enter(last);
  EXPECT_EQ(made.all.fall_asleep(last, mark), 1U) << "the looker sleeps";
  made.wake_named();
  EXPECT_EQ(last.doorbell->mark(), 1U);
  EXPECT_EQ(first.doorbell->mark(), 0U) << "a message wakes the looker alone";
  EXPECT_EQ(made.all.leave(last), 1U);
  made.wake_named();
  EXPECT_EQ(first.doorbell->mark(), 1U);
  lookers::wake_up(first);
  made.all.enter(last);
  EXPECT_EQ(made.all.fall_asleep(last, mark), 0U) << "it has slept before, and the looker is awake";
  EXPECT_FALSE(made.words[0].is_left_asleep());
  EXPECT_EQ(made.all.leave(first), 1U);
  made.wake_named();
  EXPECT_EQ(last.doorbell->mark(), 2U);
  EXPECT_EQ(made.all.leave(last), 0U);
}

// Device 1 is polled by threads of device 0 as well, by their policy.
TEST(lookers, a_device_at_which_no_thread_waits_has_a_looker_elsewhere) {
  using two = weft::core::basic_lookers<weft::detail::std_atomics, 2>;
  std::array<two::word, two::word::doorbells_begin + 3> words;
  two all;
  all.use(words.data());
  std::array<two::seat, 3> seats;
  std::uint32_t mark = 0;
  for (std::uint32_t index = 0; index < seats.size(); ++index) {
    seats[index].homes = index == 2 ? 0b10 : 0b01;
    seats[index].devices = index == 2 ? 0b10 : 0b11;
    seats[index].doorbell = &words[two::word::doorbells_begin + index];
    all.enter(seats[index]);
  }
  EXPECT_EQ(all.fall_asleep(seats[0], mark), 0b11U);
  EXPECT_TRUE(all.are_covered(seats[0], 0b10));
  EXPECT_EQ(all.fall_asleep(seats[1], mark), 0b01U) << "the last to sleep looks at its own device";
  EXPECT_FALSE(all.are_covered(seats[1], 0b10)) << "the first thread may be busy with device 0";
  EXPECT_EQ(all.fall_asleep(seats[2], mark), 0b10U) << "a thread of the device relieves others";
  EXPECT_TRUE(all.are_covered(seats[0], 0b10) && all.are_covered(seats[1], 0b10));
  words[1].wake_named([](two::word& doorbell) { doorbell.end_sleep(); });
  EXPECT_EQ(seats[2].doorbell->mark(), 1U);
  EXPECT_EQ(all.leave(seats[2]), 0b10U) << "the last thread that polls it takes over";
  words[1].wake_named([](two::word& doorbell) { doorbell.end_sleep(); });
  EXPECT_EQ(seats[1].doorbell->mark(), 1U);
  EXPECT_EQ(all.leave(seats[1]), 0b11U);
  EXPECT_EQ(all.leave(seats[0]), 0U);
  EXPECT_FALSE(words[0].is_left_asleep() || words[1].is_left_asleep());
}

// A thread that waits through two devices polls both while it is awake, so that others rely on it at each.
TEST(lookers, a_thread_looks_at_all_devices_that_it_waits_through) {
  using two = weft::core::basic_lookers<weft::detail::std_atomics, 2>;
  std::array<two::word, two::word::doorbells_begin + 2> words;
  two all;
  all.use(words.data());
  std::array<two::seat, 2> seats;
  std::uint32_t mark = 0;
  for (std::uint32_t index = 0; index < seats.size(); ++index) {
    seats[index].homes = seats[index].devices = index == 0 ? 0b11 : 0b10;
    seats[index].doorbell = &words[two::word::doorbells_begin + index];
    all.enter(seats[index]);
  }
  EXPECT_EQ(all.fall_asleep(seats[0], mark), 0b11U);
  EXPECT_TRUE(all.are_covered(seats[1], 0b11)) << "it waits through both";
  words[1].wake_named([](two::word& doorbell) { doorbell.end_sleep(); });
  EXPECT_EQ(seats[0].doorbell->mark(), 1U) << "both words name one doorbell";
  two::wake_up(seats[0]);
  seats[1].has_slept = true;
  EXPECT_EQ(all.fall_asleep(seats[1], mark), 0U) << "the other one is awake and polls this device, too";
  EXPECT_EQ(all.leave(seats[0]), 0b10U) << "no thread is left at the first device";
  EXPECT_FALSE(words[0].is_left_asleep());
  EXPECT_TRUE(words[1].is_left_asleep());
  EXPECT_EQ(all.leave(seats[1]), 0U);
}

}  // namespace
