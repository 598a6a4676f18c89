// SPDX-License-Identifier: BSD-3-Clause
// Workers that fall asleep under the explorer: none sleeps while there is something for it, and two fibers wake two.
#include "fiber/sleep_mark.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <vector>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using mark = weft::fibers::basic_sleep_mark<model_atomics>;

class model_fiber_sleep : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

struct house {
  struct one {
    mark sleeps;
    atomic<std::uint32_t> alarm{0};
  };
  std::array<one, 2> workers;
  atomic<std::uint32_t> offered{0};

  void wake(one& which) {
    // [model_fiber_sleep.wake] release -> [model_fiber_sleep.sleep]: as the system's.
    which.alarm.fetch_add(1, std::memory_order_release);
  }
  // As an inbox, or the ready bits.
  void put() {
    // [model_fiber_sleep.put] seq_cst -> [model_fiber_sleep.look], [model_fiber_sleep.last_look]: before the look for
    // sleepers.
    offered.fetch_add(1, std::memory_order_seq_cst);
  }
  void offer() {
    put();
    for (one& each : workers) {
      if (!each.sleeps.try_call()) continue;
      wake(each);
      return;
    }
  }
  void signal() {
    put();
    one& first = workers[0];
    if (!first.sleeps.is_asleep()) return;
    static_cast<void>(first.sleeps.try_call());
    wake(first);
  }
  // Runs one, as soon as there is one.
  void run_one(one& me) {
    for (;;) {
      // [model_fiber_sleep.look] seq_cst <- [model_fiber_sleep.put]: after it has announced that it sleeps.
      std::uint32_t seen = offered.load(std::memory_order_seq_cst);
      while (seen != 0) {
        if (offered.compare_exchange_strong(seen, seen - 1, std::memory_order_relaxed)) return;
      }
      // [model_fiber_sleep.before] relaxed: it sleeps only until this changes.
      const std::uint32_t before = me.alarm.load(std::memory_order_relaxed);
      me.sleeps.fall_asleep();
      // [model_fiber_sleep.last_look] seq_cst <- [model_fiber_sleep.put]: after it has announced that it sleeps.
      if (offered.load(std::memory_order_seq_cst) == 0) {
        // [model_fiber_sleep.sleep] acquire <- [model_fiber_sleep.wake]: as the system's.
        while (me.alarm.load(std::memory_order_acquire) == before) await_change();
      }
      me.sleeps.wake_up();
    }
  }
};

void one_is_signalled() {
  house of;
  threads([&] { of.signal(); }, [&] { of.run_one(of.workers[0]); });
}

// Each worker runs one and is gone, as if that took for ever: so both have to be woken.
void two_fibers_for_two() {
  house of;
  threads(
      [&] {
        of.offer();
        of.offer();
      },
      [&] { of.run_one(of.workers[0]); }, [&] { of.run_one(of.workers[1]); });
}

void two_offer() {
  house of;
  for (house::one& each : of.workers) each.sleeps.fall_asleep();
  threads([&] { of.offer(); }, [&] { of.offer(); });
  for (house::one& each : of.workers) {
    // relaxed: all threads have ended.
    check(each.alarm.load(std::memory_order_relaxed) == 1, "one worker is woken for both fibers");
  }
}

// A worker that a signal has woken isn't relied on for a fiber that any may begin.
void a_signal_and_an_offer() {
  house of;
  for (house::one& each : of.workers) each.sleeps.fall_asleep();
  of.signal();
  of.offer();
  // relaxed: there is one thread.
  check(of.workers[1].alarm.load(std::memory_order_relaxed) == 1, "the worker that runs another fiber is woken for it");
}

TEST_F(model_fiber_sleep, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"one is signalled", one_is_signalled},
                                      {"two fibers for two", two_fibers_for_two},
                                      {"two offer", two_offer},
                                      {"a signal and an offer", a_signal_and_an_offer}};
  const char* const why = "the mark carries nothing: only its place in the order of all counts";
  const planting_report report = plant_bugs(programs, {"/sleep_mark.hpp"},
                                            {{"fiber.sleep", bug::drop_release, why},
                                             {"fiber.asleep", bug::drop_acquire, why},
                                             {"fiber.uncalled", bug::drop_acquire, why}});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
