// SPDX-License-Identifier: BSD-3-Clause
// The door to a worker under the explorer: no thread uses a worker that is gone, or one for which its reference is not.
#include "fiber/door.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using door_type = weft::fibers::basic_door<model_atomics>;

class model_fiber_door : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

struct house {
  door_type door;
  std::uint64_t behind = 0;  // which worker: 0 where none is

  void write(std::uint64_t value) { model_atomics::write_nonatomic(&behind, &value, sizeof value); }
  void open(std::uint32_t scheduler) {
    write(scheduler);
    door.open(scheduler);
  }
  void close(std::uint32_t scheduler) {
    door.close(scheduler);
    while (!door.is_empty()) await_change();
    write(0);
  }
  void signal(std::uint32_t scheduler) {
    if (!door.try_enter(scheduler)) return;
    for (int i = 0; i < 2; ++i) {
      std::uint64_t seen = 0;
      model_atomics::read_nonatomic(&seen, &behind, sizeof seen);
      check(seen == scheduler, "a signal reaches another worker, or none");
    }
    door.leave();
  }
};

void one_signals() {
  house of;
  of.open(1);
  threads([&] { of.close(1); },
          [&] {
            of.signal(1);
            of.signal(1);
          });
}

void two_signal() {
  house of;
  of.open(1);
  threads([&] { of.close(1); }, [&] { of.signal(1); }, [&] { of.signal(1); });
}

// The number of the next scheduler reaches the other thread by something else, which orders nothing here.
void another_worker_takes_the_door() {
  house of;
  of.open(1);
  threads(
      [&] {
        of.close(1);
        of.open(2);
        of.close(2);
      },
      [&] { of.signal(1); }, [&] { of.signal(2); });
}

TEST_F(model_fiber_door, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"one signals", one_signals},
                                      {"two signal", two_signal},
                                      {"another worker takes the door", another_worker_takes_the_door}};
  const planting_report report = plant_bugs(programs, {"/door.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
