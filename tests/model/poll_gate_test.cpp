// SPDX-License-Identifier: BSD-3-Clause
// The gate of a device under the explorer: one thread is inside at a time, each thread that asks gets its turn, and a
// thread that withdraws something knows when no thread uses it any more.
#include "core/device/poll_gate.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using gate_word = weft::core::basic_gate_word<model_atomics>;

class model_poll_gate : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

struct house {
  gate_word gate;
  atomic<std::uint32_t> fences{0};
  atomic<std::uint32_t> is_there{1};
  std::uint64_t inside = 0;  // touched by the thread inside alone
  std::uint64_t thing = 0;   // the thing to withdraw
  char threads[3] = {};

  gate_word::entrant name(int thread) const { return &threads[thread]; }

  static void use(std::uint64_t& count) {
    std::uint64_t before = 0;
    model_atomics::read_nonatomic(&before, &count, sizeof before);
    ++before;
    model_atomics::write_nonatomic(&count, &before, sizeof before);
  }

  // The fence that a membarrier makes in every other thread, or each thread's own one: all have one order.
  void fence() {
    // [model_poll_gate.fence] acq_rel <-> [model_poll_gate.fence]: all that was done before earlier fences.
    fences.fetch_add(1, std::memory_order_acq_rel);
  }

  void work() {
    fence();
    use(inside);
    if (is_there.load(std::memory_order_relaxed) != 0) use(thing);  // relaxed: the fences order it
    gate.leave();
  }
  void poll(int thread) {
    if (gate.looks_free() && gate.try_enter(name(thread))) work();
  }
  void poll_alone(int thread) {
    gate.enter_alone(name(thread));
    work();
  }
  void enter_by_asking(int thread) {
    for (;;) {
      gate.ask(name(thread));
      if (gate.is_given_to(name(thread)) || gate.try_enter(name(thread))) break;
      await_change();
    }
    gate.take_back();
    check(gate.is_inside(name(thread)), "a turn that is none");
    use(inside);
    gate.leave();
  }
  void withdraw(int thread) {
    is_there.store(0, std::memory_order_relaxed);  // relaxed: the fences order it
    fence();
    const std::uint64_t before = gate.passes();
    while (!gate.has_left_since(before, name(thread))) await_change();
    use(thing);
  }
};

void two_poll() {
  house of;
  threads(
      [&] {
        of.poll(0);
        of.poll(0);
      },
      [&] { of.poll(1); });
}

void one_asks() {
  house of;
  threads(
      [&] {
        of.poll(0);
        of.poll(0);
      },
      [&] { of.enter_by_asking(1); });
  check(of.gate.looks_free(), "somebody is inside for ever");
}

void two_ask() {
  house of;
  threads([&] { of.poll(0); }, [&] { of.enter_by_asking(1); }, [&] { of.enter_by_asking(2); });
  check(of.gate.looks_free(), "somebody is inside for ever");
}

void something_is_withdrawn() {
  house of;
  threads(
      [&] {
        of.poll(0);
        of.poll(0);
      },
      [&] { of.withdraw(1); });
}

void something_is_withdrawn_beside_two() {
  house of;
  threads([&] { of.poll(0); }, [&] { of.poll(1); }, [&] { of.withdraw(2); });
}

void something_is_withdrawn_from_one_alone() {
  house of;
  threads(
      [&] {
        of.poll_alone(0);
        of.poll_alone(0);
      },
      [&] { of.withdraw(1); });
}

void something_is_withdrawn_by_who_is_inside() {
  house of;
  threads(
      [&] {
        of.gate.enter_alone(of.name(0));
        of.withdraw(0);
        of.gate.leave();
      },
      [&] { of.fence(); });
}

TEST_F(model_poll_gate, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"two poll", two_poll},
                                      {"one asks", one_asks},
                                      {"two ask", two_ask},
                                      {"something is withdrawn", something_is_withdrawn},
                                      {"withdrawn beside two", something_is_withdrawn_beside_two},
                                      {"withdrawn from one alone", something_is_withdrawn_from_one_alone},
                                      {"withdrawn by who is inside", something_is_withdrawn_by_who_is_inside}};
  const planting_report report = plant_bugs(programs, {"/poll_gate.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
