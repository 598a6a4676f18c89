// SPDX-License-Identifier: BSD-3-Clause
// Fibers that are suspended after a fence of another thread's under the explorer: none misses its signal.
#include "core/wait/shared_fence.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using fence_type = weft::core::basic_shared_fence<model_atomics>;

class model_shared_fence : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

struct hall {
  struct sleeper {
    atomic<std::uint32_t> awaits{0};
    atomic<std::uint32_t> woken{0};
  };

  // What a membarrier makes of a plain point in every other thread: all fences have one order.
  void fence() {
    // [model_shared_fence.fence] acq_rel <-> [model_shared_fence.fence]: all that was done before earlier fences.
    fences.fetch_add(1, std::memory_order_acq_rel);
  }

  // As `parking::signalled`, after a signal.
  void signal() {
    signals.store(1, std::memory_order_relaxed);  // relaxed: the fences order it
    fence();
    for (sleeper& each : sleepers) {
      if (each.awaits.load(std::memory_order_relaxed) == 0) continue;  // relaxed: the fences order it
      each.woken.store(1, std::memory_order_relaxed);                  // relaxed: it carries nothing
    }
  }

  // As `parking::suspend`.
  void wait(sleeper& me) {
    me.awaits.store(1, std::memory_order_relaxed);  // relaxed: ordered by `announce`
    const std::uint64_t ticket = shared.announce();
    if (!shared.has_passed(ticket)) {
      check(shared.pass([&] {
        fence();
        return true;
      }),
            "the fence has failed");
    }
    if (signals.load(std::memory_order_relaxed) != 0) return;  // relaxed: the fences order it
    // relaxed: it carries nothing.
    while (me.woken.load(std::memory_order_relaxed) == 0) await_change();
  }

  fence_type shared;
  atomic<std::uint32_t> signals{0};
  atomic<std::uint32_t> fences{0};
  std::array<sleeper, 2> sleepers;
};

void one_waits() {
  hall all;
  threads([&] { all.signal(); }, [&] { all.wait(all.sleepers[0]); });
}

void two_wait() {
  hall all;
  threads([&] { all.signal(); }, [&] { all.wait(all.sleepers[0]); }, [&] { all.wait(all.sleepers[1]); });
}

// Both fence; the one that began later may end first.
void two_fence() {
  hall all;
  const auto fences = [&] {
    check(all.shared.pass([&] {
      all.fence();
      return true;
    }),
          "the fence has failed");
  };
  threads(fences, fences);
  const std::uint64_t ticket = all.shared.announce();
  check(ticket == 2 && all.shared.has_passed(1) && !all.shared.has_passed(2), "the number of a later fence was lost");
}

TEST_F(model_shared_fence, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"one waits", one_waits}, {"two wait", two_wait}, {"two fence", two_fence}};
  const planting_report report = plant_bugs(programs, {"/shared_fence.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
