// SPDX-License-Identifier: BSD-3-Clause
// Falling asleep and waking up under the explorer: nobody sleeps through a message.
#include "net/ring/sleep_word.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using word_type = weft::net::basic_sleep_word<model_atomics>;

class model_sleep_word : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

struct bedroom {
  word_type word;
  atomic<std::uint32_t> messages{0};
  atomic<std::uint32_t> fences{0};

  // What the sleeper's membarrier makes of a plain point in every other thread: all fences have one order.
  void fence() {
    // [model_sleep_word.fence] acq_rel <-> [model_sleep_word.fence]: all that was done before earlier fences.
    fences.fetch_add(1, std::memory_order_acq_rel);
  }

  void send() {
    // [model_sleep_word.send] release -> [model_sleep_word.look]: as a ring publishes.
    messages.fetch_add(1, std::memory_order_release);
    fence();
    if (word.is_left_asleep() && word.take()) {
      woken.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count, read when all threads have ended
    }
  }
  std::uint32_t sent() const {
    // [model_sleep_word.look] acquire <- [model_sleep_word.send]: as a ring is looked into.
    return messages.load(std::memory_order_acquire);
  }
  void wait_for(std::uint32_t wanted) {
    while (sent() < wanted) {
      const std::uint32_t expected = word.prepare_sleep();
      fence();
      if (sent() >= wanted) break;
      // The system's sleep: it begins only while the word is as expected, and ends with a wake-up, which has changed
      // it. relaxed: it carries nothing.
      while (word.value.load(std::memory_order_relaxed) == expected) await_change();
    }
  }
  atomic<std::uint32_t> woken{0};
};

void one_sends() {
  bedroom room;
  threads([&] { room.send(); }, [&] { room.wait_for(1); });
}

void two_send() {
  bedroom room;
  threads([&] { room.send(); }, [&] { room.send(); }, [&] { room.wait_for(2); });
}

void two_sleep() {
  bedroom room;
  threads([&] { room.send(); }, [&] { room.wait_for(1); }, [&] { room.wait_for(1); });
}

// Only one of two senders calls the system for one sleep.
void one_wakes() {
  bedroom room;
  static_cast<void>(room.word.prepare_sleep());
  threads([&] { room.send(); }, [&] { room.send(); });
  // relaxed: all threads have ended.
  check(room.woken.load(std::memory_order_relaxed) == 1, "both wake the sleeper, or none");
}

TEST_F(model_sleep_word, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{
      {"one sends", one_sends}, {"two send", two_send}, {"two sleep", two_sleep}, {"one wakes", one_wakes}};
  const planting_report report = plant_bugs(programs, {"/sleep_word.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
