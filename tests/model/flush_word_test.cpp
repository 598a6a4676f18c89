// SPDX-License-Identifier: BSD-3-Clause
// The counts that flushes look at, under the explorer: a flush sees all that operations did that had begun before it,
// waits for no later ones, and threads that begin operations all the time hold none up.
#include "core/runtime/flush_word.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using flush_word = weft::core::basic_flush_word<model_atomics>;
using shared_word = kept_until_the_end<flush_word>;

// The bytes that the answer to an operation writes.
struct answer {
  std::uint64_t written = 0;

  void write() {
    const std::uint64_t one = 1;
    model_atomics::write_nonatomic(&written, &one, sizeof one);
  }
  [[nodiscard]] bool is_there() const {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &written, sizeof out);
    return out == 1;
  }
};

void flush(flush_word& word) {
  const std::uint8_t since = word.epoch();
  while (!word.is_through(since)) await_change();
}

// One operation, begun before, is completed; another thread posts meanwhile.
void a_flush_sees_what_has_begun_before() {
  shared_word word;
  answer first;
  const unsigned half = word->begin();
  threads(
      [&] {
        first.write();
        static_cast<void>(word->end(half));
      },
      [&] {
        for (int i = 0; i < 2; ++i) static_cast<void>(word->end(word->begin()));
      },
      [&] {
        flush(*word.object);
        check(first.is_there(), "the flush is over before the operation");
      });
  check(word->count() == 0, "an operation is still counted");
}

// Two flushes begin epochs; each thread flushes its own operation, and another thread completes it.
void flushes_that_meet_see_their_own() {
  shared_word word;
  answer answers[2];
  atomic<std::uint32_t> begun[2] = {0, 0};  // the half, plus 1
  const auto post_and_flush = [&](unsigned mine) {
    // [model_flush.hand_over] release -> [model_flush.complete]: the operation has begun.
    begun[mine].store(word->begin() + 1, std::memory_order_release);
    flush(*word.object);
    check(answers[mine].is_there(), "the flush is over before the operation");
  };
  threads([&] { post_and_flush(0); }, [&] { post_and_flush(1); },
          [&] {
            for (unsigned i = 0; i < 2; ++i) {
              std::uint32_t half = 0;
              // [model_flush.complete] acquire <- [model_flush.hand_over]: the operation has begun.
              while ((half = begun[i].load(std::memory_order_acquire)) == 0) await_change();
              answers[i].write();
              static_cast<void>(word->end(half - 1));
            }
          });
  check(word->count() == 0, "an operation is still counted");
}

// An operation that begins after the flush is never completed here.
void a_later_operation_holds_no_flush_up() {
  shared_word word;
  const unsigned first = word->begin();
  const std::uint8_t since = word->epoch();
  check(!word->is_through(since), "the flush is over before the operation");
  const unsigned later = word->begin();
  threads([&] { check(word->end(first), "no flush has to look"); },
          [&] {
            while (!word->is_through(since)) await_change();
          });
  check(word->count() == 1, "the later operation is not counted");
  check(!word->is_through(word->epoch()), "a later flush does not wait");
  static_cast<void>(word->end(later));
}

class model_flush_word : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 5};

TEST_F(model_flush_word, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"what has begun before", a_flush_sees_what_has_begun_before, brief},
                                      {"flushes that meet", flushes_that_meet_see_their_own, brief},
                                      {"a later operation", a_later_operation_holds_no_flush_up, brief}};
  const planting_report report = plant_bugs(programs, {"/flush_word.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

// 256 epochs later the number is equal: the flush waits for one more, and is over then.
TEST(flush_word, that_misses_all_epochs_is_over_later) {
  weft::core::flush_word word;
  const unsigned first = word.begin();
  const std::uint8_t since = word.epoch();
  EXPECT_FALSE(word.is_through(since));
  unsigned last = word.begin();
  EXPECT_TRUE(word.end(first));
  // Each of these begins an epoch while the last operation is under way, and completes that one in the next.
  std::uint8_t before = word.epoch();
  for (unsigned epochs = 1; epochs < 256; ++epochs) {
    EXPECT_FALSE(word.is_through(before));
    EXPECT_EQ(word.epoch(), static_cast<std::uint8_t>(before + 1));
    before = word.epoch();
    const unsigned next = word.begin();
    EXPECT_TRUE(word.end(last));
    last = next;
  }
  EXPECT_EQ(word.epoch(), since);
  EXPECT_FALSE(word.is_through(since)) << "it is through, and can't know that";
  static_cast<void>(word.begin());
  EXPECT_TRUE(word.end(last));
  EXPECT_TRUE(word.is_through(since));
  EXPECT_EQ(word.count(), 1U);
}

}  // namespace
