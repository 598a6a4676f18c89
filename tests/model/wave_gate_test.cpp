// SPDX-License-Identifier: BSD-3-Clause
// The gate of a termination's waves, under the explorer: a wave that waits for work is released exactly once, by the
// end of the last piece, and the thread that drives it then sees the work of all threads.
#include "coll/termination/wave_gate.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using weft::coll::gate_answer;
using wave_gate = weft::coll::basic_wave_gate<model_atomics>;

// A word that one thread writes and another reads, without an order of its own.
struct unordered_word {
  std::uint64_t value = 0;

  void add() {
    std::uint64_t now = read() + 1;
    model_atomics::write_nonatomic(&value, &now, sizeof now);
  }
  [[nodiscard]] std::uint64_t read() const {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &value, sizeof out);
    return out;
  }
};

// Two threads end a piece each; another one wants to join the wave.
void the_last_end_releases_the_wave() {
  kept_until_the_end<wave_gate> gate;
  unordered_word waves, work[2];
  gate->begin();
  gate->begin();
  const auto drive = [&] {
    check(work[0].read() == 1, "the wave does not see the work of the first piece");
    check(work[1].read() == 1, "the wave does not see the work of the second piece");
    waves.add();
  };
  const auto end = [&](unsigned which) {
    work[which].add();
    const gate_answer answer = gate->end();
    check(answer != gate_answer::misuse, "a piece had not begun");
    if (answer == gate_answer::release) drive();
  };
  threads([&] { end(0); }, [&] { end(1); },
          [&] {
            waves.add();  // the wave before
            if (gate->enter()) drive();
          });
  check(waves.read() == 2, "the wave is joined twice, or never");
}

// Another piece begins meanwhile.
void a_piece_that_begins_holds_the_wave_or_comes_too_late() {
  kept_until_the_end<wave_gate> gate;
  atomic<std::uint32_t> waves = 0;
  gate->begin();
  const auto end = [&] {
    // [model_gate.wave] relaxed: only the number counts.
    if (gate->end() == gate_answer::release) waves.fetch_add(1, std::memory_order_relaxed);
  };
  threads([&] { end(); },
          [&] {
            gate->begin();
            end();
          },
          [&] {
            // [model_gate.wave] relaxed: only the number counts.
            if (gate->enter()) waves.fetch_add(1, std::memory_order_relaxed);
          });
  // [model_gate.wave] relaxed: only the number counts.
  check(waves.load(std::memory_order_relaxed) == 1, "the wave is joined twice, or never");
  check(gate->end() == gate_answer::misuse, "a piece is left");
}

class model_wave_gate : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 5};

TEST_F(model_wave_gate, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{
      {"the last end", the_last_end_releases_the_wave, brief},
      {"a piece that begins", a_piece_that_begins_holds_the_wave_or_comes_too_late, brief}};
  const planting_report report = plant_bugs(programs, {"/wave_gate.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
