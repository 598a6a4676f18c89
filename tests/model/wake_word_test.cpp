// SPDX-License-Identifier: BSD-3-Clause
// A fiber or thread that waits, and the threads that wake it or interrupt its wait, under the explorer: it continues
// once it is woken, no thread uses what it destroys then, and it looks at its limits once one is reached.
#include "base/wake_word.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

#include "model/atomics.hpp"
#include "model/plain_words.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using wake_word = weft::base::basic_wake_word<model_atomics>;

class model_wake_word : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

struct house {
  wake_word word;
  atomic<std::uint32_t> is_resumed{0};  // as a ready bit
  atomic<std::uint32_t> is_limited{0};
  std::uint64_t written = 0;    // what the fiber waits for
  std::uint64_t scheduler = 0;  // what `resume` uses, and the fiber destroys when it has left

  void set_for_fiber() {
    write(written, 1);
    word.begin_wake();
    check(read(scheduler) == 0, "the scheduler is gone while it resumes the fiber");
    // [model_wake_word.resume] release -> [model_wake_word.suspend]: as a ready bit.
    is_resumed.store(1, std::memory_order_release);
    check(read(scheduler) == 0, "the scheduler is gone while it resumes the fiber");
    word.end_wake();
  }
  void wait_as_fiber() {
    for (std::uint32_t seen = word.state(); seen != wake_word::set; seen = word.state()) {
      if (seen == wake_word::waking) {
        await_change();
        continue;
      }
      // [model_wake_word.suspend] acquire <- [model_wake_word.resume]: as a ready bit, which is taken.
      while (is_resumed.exchange(0, std::memory_order_acquire) == 0) await_change();
    }
    check(read(written) == 1, "what was done before the event is not seen");
    write(scheduler, 1);
  }

  // The system compares the word under a lock, so it reads the latest value.
  [[nodiscard]] std::uint32_t value_for_system() {
    auto& address = const_cast<wake_word::word&>(word.address());
    return address.fetch_or(0, std::memory_order_relaxed);  // relaxed: it carries nothing
  }

  void set_for_thread() {
    write(written, 1);
    if (word.set_for_thread()) {
      // [model_wake_word.wake] release -> [model_wake_word.sleep]: the system's.
      is_resumed.store(1, std::memory_order_release);
    }
  }
  void wait_as_thread() {
    while (!word.is_set()) {
      word.prepare_sleep();
      // The system's sleep begins only while the word is as expected, and ends with a wake-up.
      if (value_for_system() != wake_word::asleep) continue;
      // [model_wake_word.sleep] acquire <- [model_wake_word.wake]: the system's.
      while (is_resumed.exchange(0, std::memory_order_acquire) == 0) await_change();
    }
    check(read(written) == 1, "what was done before the event is not seen");
    write(written, 2);
  }

  // A wait without an event, whose limit is reached.
  void interrupt_thread() {
    // relaxed: the word orders it.
    is_limited.store(1, std::memory_order_relaxed);
    if (word.interrupt_thread()) {
      // [model_wake_word.wake] release -> [model_wake_word.sleep]: the system's.
      is_resumed.store(1, std::memory_order_release);
    }
  }
  void wait_until_interrupted() {
    while (true) {
      word.prepare_sleep();
      // relaxed: the word orders it.
      if (is_limited.load(std::memory_order_relaxed) == 1) return;
      // As in `wait_as_thread`.
      if (value_for_system() != wake_word::asleep) continue;
      // [model_wake_word.sleep] acquire <- [model_wake_word.wake]: the system's.
      while (is_resumed.exchange(0, std::memory_order_acquire) == 0) await_change();
    }
  }
};

void a_fiber_waits() {
  house of;
  threads([&] { of.set_for_fiber(); }, [&] { of.wait_as_fiber(); });
}

void a_thread_waits() {
  house of;
  threads([&] { of.set_for_thread(); }, [&] { of.wait_as_thread(); });
}

void a_thread_is_interrupted() {
  house of;
  threads([&] { of.interrupt_thread(); }, [&] { of.wait_until_interrupted(); });
}

void an_event_and_an_interruption_race() {
  house of;
  threads([&] { of.set_for_thread(); }, [&] { of.interrupt_thread(); }, [&] { of.wait_as_thread(); });
}

TEST_F(model_wake_word, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"a fiber waits", a_fiber_waits},
                                      {"a thread waits", a_thread_waits},
                                      {"a thread is interrupted", a_thread_is_interrupted},
                                      {"an event and an interruption race", an_event_and_an_interruption_race}};
  const planting_report report = plant_bugs(programs, {"/wake_word.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
