// SPDX-License-Identifier: BSD-3-Clause
// The counts of a batch, under the explorer: each round is ended exactly once, by a thread that sees what was done
// before each end of an operation; then the next round begins.
#include "weft/detail/batch_ends.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using batch_ends = weft::detail::batch_ends<model_atomics>;

constexpr std::uint32_t no_slot = batch_ends::threads;  // of a thread that is none of the first

// A word that one thread writes and another reads, without an order of its own.
struct unordered_word {
  std::uint64_t value = 0;

  void write(std::uint64_t now) { model_atomics::write_nonatomic(&value, &now, sizeof now); }
  [[nodiscard]] std::uint64_t read() const {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &value, sizeof out);
    return out;
  }
};

struct house {
  kept_until_the_end<batch_ends> ends;
  unordered_word results[2];  // what each operation has done
  unordered_word target;      // whom to signal
  unordered_word outcome;

  // A thread that is late may end a later round than the one that it has counted in.
  void end_round(std::uint64_t operations) {
    const std::uint64_t round = target.read();
    check(round == outcome.read() + 1, "the end of the round does not see whom to signal, or the round ends twice");
    for (std::uint64_t each = 0; each < operations; ++each)
      check(results[each].read() == round, "the end of the round does not see an operation");
    outcome.write(round);
    ends->reopen();
  }
  void complete(unsigned operation, std::uint32_t slot, std::uint64_t operations) {
    results[operation].write(1);
    if (ends->arrive(slot)) end_round(operations);
  }
  void close(std::uint32_t expected, std::uint32_t slot, std::uint64_t operations, std::uint64_t round = 1) {
    target.write(round);
    if (ends->close(expected, slot)) end_round(operations);
  }
  void await_end() {
    while (!ends->is_open()) await_change();
  }
};

// A thread that counts in a word of its own.
void one_ends_while_it_is_closed() {
  house made;
  threads([&] { made.complete(0, 0, 1); }, [&] { made.close(2, 1, 1); });
  check(made.outcome.read() == 1, "the round does not end");
}

// A thread that shares its word with others, the one that closes too.
void one_without_a_slot_ends_while_it_is_closed() {
  house made;
  threads([&] { made.complete(0, no_slot, 1); }, [&] { made.close(2, no_slot, 1); });
  check(made.outcome.read() == 1, "the round does not end");
}

void two_end_while_it_is_closed() {
  house made;
  threads([&] { made.complete(0, 0, 2); }, [&] { made.complete(1, 1, 2); }, [&] { made.close(3, 2, 2); });
  check(made.outcome.read() == 1, "the round does not end");
}

void two_without_slots_end_while_it_is_closed() {
  house made;
  threads([&] { made.complete(0, no_slot, 2); }, [&] { made.complete(1, no_slot + 1, 2); },
          [&] { made.close(3, 2, 2); });
  check(made.outcome.read() == 1, "the round does not end");
}

// The thread that waits for the end of a round closes the next one, which has no operations. The other thread may still
// look at the state then.
void the_next_round_begins_after_the_end() {
  house made;
  threads([&] { made.complete(0, 0, 1); },
          [&] {
            made.close(2, 1, 1);
            made.await_end();
            check(made.outcome.read() == 1, "the end of the first round is not seen");
            made.results[0].write(2);
            made.close(3, 1, 1, 2);
            made.await_end();
            check(made.outcome.read() == 2, "the end of the second round is not seen");
          });
}

const std::vector<harmless> harmless_bugs{
    {"batch.look", bug::drop_acquire, "the sum sees the count of the close, and its writes"},
    {"batch.close", bug::drop_release, "the count of the close, which follows, hands them on"},
    {"batch.arrive_shared", bug::drop_acquire, "the sum acquires"}};

class model_batch_ends : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 5};

TEST_F(model_batch_ends, hold_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{
      {"one ends while it is closed", one_ends_while_it_is_closed, brief},
      {"one without a slot ends while it is closed", one_without_a_slot_ends_while_it_is_closed, brief},
      {"two end while it is closed", two_end_while_it_is_closed, brief},
      {"two without slots end while it is closed", two_without_slots_end_while_it_is_closed, brief},
      {"the next round begins after the end", the_next_round_begins_after_the_end, brief}};
  const planting_report report = plant_bugs(programs, {"/batch_ends.hpp"}, harmless_bugs);
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
