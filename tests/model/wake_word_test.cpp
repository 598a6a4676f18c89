// A fiber and the thread that wakes it under the explorer: the fiber goes on once it is woken, and what it destroys
// then is used by nobody.
#include "base/wake_word.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

#include "model/atomics.hpp"
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
  std::uint64_t written = 0;            // what the fiber waits for
  std::uint64_t scheduler = 0;          // what `resume` uses, and the fiber destroys when it has left

  static void write(std::uint64_t& to, std::uint64_t value) {
    model_atomics::write_nonatomic(&to, &value, sizeof value);
  }
  static std::uint64_t read(const std::uint64_t& from) {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &from, sizeof out);
    return out;
  }

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
      // The system's sleep begins only while the word is as expected, and ends with a wake-up. relaxed: it carries
      // nothing.
      if (word.address().load(std::memory_order_relaxed) != wake_word::asleep) continue;
      // [model_wake_word.sleep] acquire <- [model_wake_word.wake]: the system's.
      while (is_resumed.load(std::memory_order_acquire) == 0) await_change();
    }
    check(read(written) == 1, "what was done before the event is not seen");
    write(written, 2);
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

TEST_F(model_wake_word, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"a fiber waits", a_fiber_waits}, {"a thread waits", a_thread_waits}};
  const planting_report report = plant_bugs(programs, {"/wake_word.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
