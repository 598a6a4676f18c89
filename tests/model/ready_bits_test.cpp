// SPDX-License-Identifier: BSD-3-Clause
// The ready bits of fibers under the explorer: no signal is lost, none is given twice, and a worker that goes to sleep
// is either woken or has seen the bit.
#include "fiber/ready_bits.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <optional>
#include <vector>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using bits = weft::fibers::basic_ready_bits<model_atomics>;

class model_ready_bits : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// Executions that fail leave their stacks as they are, so what allocates lives outside.
bits& fresh() {
  static std::optional<bits> kept;
  return kept.emplace(128U);
}

// What signallers write before they signal is there for the fiber.
struct fibers {
  std::array<std::uint64_t, 3> written{};
  std::array<int, 3> runs{};
};

void signal(bits& of, fibers& all, std::uint32_t slot, unsigned which) {
  const std::uint64_t one = 1;
  model_atomics::write_nonatomic(&all.written[which], &one, sizeof one);
  of.set(slot);
}

void take_all(bits& of, fibers& all, const std::array<std::uint32_t, 3>& slots) {
  for (std::uint32_t slot = of.take(); slot != bits::none; slot = of.take()) {
    bool known = false;
    for (unsigned i = 0; i < slots.size(); ++i) {
      if (slots[i] != slot) continue;
      known = true;
      ++all.runs[i];
      std::uint64_t seen = 0;
      model_atomics::read_nonatomic(&seen, &all.written[i], sizeof seen);
      check(seen == 1, "a fiber runs before what it was signalled for is there");
    }
    check(known, "a slot that nobody has set");
  }
}

// Two threads signal neighbours in one word, the worker takes.
void neighbours() {
  bits& ready = fresh();
  ready.use(65);
  static std::optional<fibers> kept;
  fibers& all = kept.emplace();
  const std::array<std::uint32_t, 3> slots{64, 65, 1};
  threads([&] { take_all(ready, all, slots); }, [&] { signal(ready, all, 64, 0); }, [&] { signal(ready, all, 65, 1); });
  take_all(ready, all, slots);
  check(all.runs[0] == 1 && all.runs[1] == 1, "a signal was lost, or given twice");
}

// A thread that knows of one level signals while another one brings a second level into use.
void growth() {
  bits& ready = fresh();
  static std::optional<fibers> kept;
  fibers& all = kept.emplace();
  const std::array<std::uint32_t, 3> slots{1, 64, 2};
  threads([&] { take_all(ready, all, slots); }, [&] { signal(ready, all, 1, 0); },
          [&] {
            ready.use(64);
            signal(ready, all, 64, 1);
          });
  take_all(ready, all, slots);
  check(all.runs[0] == 1 && all.runs[1] == 1, "a signal was lost, or given twice, while a level was added");
}

// As `worker_sleep::sleep_until` and `worker::make_ready` do it; the slot may be the first one of a level.
void sleep(bool grows) {
  bits& ready = fresh();
  if (!grows) ready.use(64);
  static std::optional<atomic<bool>> kept;
  atomic<bool>& asleep = kept.emplace(false);
  bool sleeps = false;
  bool woken = false;
  threads(
      [&] {
        // [model_ready_bits.sleep] seq_cst <-> [model_ready_bits.wake]: as `sleep_until`; the worker sees the bit, or
        // is seen asleep.
        asleep.store(true, std::memory_order_seq_cst);
        sleeps = ready.is_empty();
      },
      [&] {
        if (grows) ready.use(64);
        ready.set(64);
        // [model_ready_bits.wake] seq_cst <-> [model_ready_bits.sleep]: as `worker::make_ready`.
        woken = asleep.load(std::memory_order_seq_cst);
      });
  check(!sleeps || woken, "the worker sleeps, and nobody wakes it");
}

const std::vector<harmless> tolerated{
    {"ready.grow", bug::drop_release, "what is there besides the number of levels lies in words that are exchanged"},
    {"ready.look", bug::drop_acquire, "who finds something takes it by an exchange, which acquires"},
    {"ready.look#2", bug::drop_acquire, "the same"},
};

const search brief{.executions_max = 4000, .random_executions_max = 2000, .deviations_max = 4};

TEST_F(model_ready_bits, lose_and_double_nothing_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"neighbours", neighbours, brief},
                                      {"growth", growth, brief},
                                      {"sleep", [] { sleep(false); }, brief},
                                      {"sleep while it grows", [] { sleep(true); }, brief}};
  const planting_report report = plant_bugs(programs, {"/ready_bits.hpp"}, tolerated);
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
