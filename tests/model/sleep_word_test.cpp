// SPDX-License-Identifier: BSD-3-Clause
// Falling asleep and waking up under the explorer: no thread sleeps through a message.
#include "net/ring/sleep_word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using word_type = weft::net::basic_sleep_word<model_atomics, 1>;

class model_sleep_word : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

struct hall {
  std::array<word_type, word_type::doorbells_begin + 2> words;  // the device's, its common doorbell, two doorbells
  atomic<std::uint32_t> messages{0};
  atomic<std::uint32_t> fences{0};

  word_type& device() { return words[0]; }
  word_type& doorbell(std::uint32_t index) { return words[word_type::doorbells_begin + index]; }

  // What the sleeper's membarrier makes of a plain point in every other thread: all fences have one order.
  void fence() {
    // [model_sleep_word.fence] acq_rel <-> [model_sleep_word.fence]: all that was done before earlier fences.
    fences.fetch_add(1, std::memory_order_acq_rel);
  }

  void send() {
    // [model_sleep_word.send] release -> [model_sleep_word.look]: as a ring publishes.
    messages.fetch_add(1, std::memory_order_release);
    fence();
    if (!device().is_left_asleep()) return;
    device().wake_named([&](word_type& found) {
      found.end_sleep();
      woken.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count, read when all threads have ended
    });
  }
  std::uint32_t sent() const {
    // [model_sleep_word.look] acquire <- [model_sleep_word.send]: as a ring is looked into.
    return messages.load(std::memory_order_acquire);
  }
  // `name()` says in the device's word where the thread sleeps.
  template <class Name>
  void wait_for(std::uint32_t wanted, word_type& at, const Name& name) {
    while (sent() < wanted) {
      const std::uint32_t expected = at.mark();
      name();
      fence();
      if (sent() >= wanted) break;
      // The system's sleep: it begins only while the word is as expected, and ends with a wake-up, which has changed
      // it. relaxed: it carries nothing.
      while (at.value.load(std::memory_order_relaxed) == expected) await_change();
    }
  }
  void look_for(std::uint32_t wanted) {
    wait_for(wanted, doorbell(0), [&] { device().name(doorbell(0)); });
  }
  void see(std::uint32_t wanted) {
    wait_for(wanted, device().common_doorbell(), [&] { device().name_common(); });
  }
  atomic<std::uint32_t> woken{0};
};

void one_sends() {
  hall made;
  threads([&] { made.send(); }, [&] { made.look_for(1); });
}

void two_send() {
  hall made;
  threads([&] { made.send(); }, [&] { made.send(); }, [&] { made.look_for(2); });
}

void two_see_it() {
  hall made;
  threads([&] { made.send(); }, [&] { made.see(1); }, [&] { made.see(1); });
}

// The name of a doorbell takes no mark of the common doorbell away.
void both_are_named() {
  hall made;
  made.device().name_common();
  made.device().name(made.doorbell(1));
  threads([&] { made.send(); }, [&] { made.send(); });
  // relaxed: all threads have ended. Only one of the senders calls the system.
  check(made.woken.load(std::memory_order_relaxed) == 2, "both senders wake, or not both threads are woken");
  check(made.doorbell(1).mark() == 1 && made.device().common_doorbell().mark() == 1, "the wrong doorbell");
}

// A thread that reads the doorbell's new number sees what the waking thread had done.
void the_doorbell_carries() {
  hall made;
  std::uint64_t written = 0;
  threads(
      [&] {
        const std::uint64_t one = 1;
        model_atomics::write_nonatomic(&written, &one, sizeof one);
        made.doorbell(0).end_sleep();
      },
      [&] {
        if (made.doorbell(0).mark() == 0) return;
        std::uint64_t seen = 0;
        model_atomics::read_nonatomic(&seen, &written, sizeof seen);
        check(seen == 1, "the reason is not seen");
      });
}

// As two threads that signal: each is seen, or wakes the sleeper.
void two_wake_one() {
  hall made;
  std::array<atomic<std::uint32_t>, 2> signals;
  const auto signal = [&](std::uint32_t index) {
    signals[index].store(1, std::memory_order_relaxed);  // relaxed: the doorbell carries it
    made.doorbell(0).end_sleep();
  };
  threads([&] { signal(0); }, [&] { signal(1); },
          [&] {
            for (;;) {
              const std::uint32_t expected = made.doorbell(0).mark();
              // relaxed: the doorbell carries them.
              if (signals[0].load(std::memory_order_relaxed) + signals[1].load(std::memory_order_relaxed) == 2) return;
              // relaxed: the system's sleep.
              while (made.doorbell(0).value.load(std::memory_order_relaxed) == expected) await_change();
            }
          });
}

// It may stay in the word, as a sender may take it at the same time.
void a_name_is_taken_back() {
  hall made;
  made.device().name(made.doorbell(0));
  made.device().name_common();
  made.device().take_back();
  made.send();
  check(made.doorbell(0).mark() == 0 && made.device().common_doorbell().mark() == 1, "the wrong name is taken back");
}

TEST_F(model_sleep_word, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"one sends", one_sends},
                                      {"two send", two_send},
                                      {"two see it", two_see_it},
                                      {"both are named", both_are_named},
                                      {"the doorbell carries", the_doorbell_carries},
                                      {"two wake one", two_wake_one},
                                      {"a name is taken back", a_name_is_taken_back}};
  const planting_report report = plant_bugs(programs, {"/sleep_word.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
