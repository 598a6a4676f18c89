// SPDX-License-Identifier: BSD-3-Clause
// The share of a copy under the explorer: every piece is copied once, by one side; the receiver finds all of them in
// their place; and a sender that hears of a copy when it is over touches nothing.
#include "core/message/shared_copy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <optional>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using weft::core::shared_piece;
using copy_state = weft::core::basic_copy_state<model_atomics>;

class model_shared_copy : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

constexpr std::uint64_t bytes = 3 * copy_state::piece_bytes_max;  // three pieces

copy_state& fresh() {
  static std::optional<copy_state> kept;
  return kept.emplace();
}

// A word stands for the bytes of a piece; only the thread that has claimed the piece may write it.
struct target {
  std::array<std::uint64_t, 3> words{};

  static std::size_t index_of(const shared_piece& piece) {
    check(piece.bytes == copy_state::piece_bytes_max && piece.offset % piece.bytes == 0, "no such piece");
    return static_cast<std::size_t>(piece.offset / piece.bytes);
  }
  void copy(const shared_piece& piece, std::uint64_t content) {
    std::uint64_t& word = words.at(index_of(piece));
    std::uint64_t before = 0;
    model_atomics::read_nonatomic(&before, &word, sizeof before);
    check(before == 0, "a piece is copied twice");
    model_atomics::write_nonatomic(&word, &content, sizeof content);
  }
  void expect_whole() {
    for (std::uint64_t& word : words) {
      std::uint64_t now = 0;
      model_atomics::read_nonatomic(&now, &word, sizeof now);
      check(now != 0, "a piece is missing");
    }
  }
};

bool copy_next(copy_state& of, std::uint32_t number, target& into, std::uint64_t content, bool works = true) {
  const shared_piece piece = of.claim(number, bytes);
  if (piece.bytes == 0) return false;
  if (works) into.copy(piece, content);
  of.finish(piece, works);
  return true;
}

void receive(copy_state& of, std::uint32_t number, target& into) {
  while (copy_next(of, number, into, number)) {
  }
  for (int looks = 0; looks < 3; ++looks) {
    if (!of.is_through(bytes)) continue;
    check(of.is_whole(), "failed without a failure");
    into.expect_whole();
    return;
  }
}

void copied_by_both() {
  copy_state& one = fresh();
  target into;
  one.open(1);
  threads([&] { receive(one, 1, into); },
          [&] {
            while (copy_next(one, 1, into, 9)) {
            }
          });
  check(one.is_through(bytes) && one.is_whole(), "not through with all pieces finished");
}

// The sender of the first copy comes when the share may serve the second one already.
void heard_too_late() {
  copy_state& one = fresh();
  target first;
  target second;
  one.open(1);
  threads(
      [&] {
        receive(one, 1, first);
        if (!one.is_through(bytes)) return;
        one.open(2);
        receive(one, 2, second);
      },
      [&] { static_cast<void>(copy_next(one, 1, first, 9)); });
}

void failed_at_the_sender() {
  copy_state& one = fresh();
  target into;
  bool failed = false;
  one.open(1);
  threads(
      [&] {
        while (copy_next(one, 1, into, 1)) {
        }
        if (one.is_through(bytes)) failed = !one.is_whole();
      },
      [&] {
        if (!copy_next(one, 1, into, 9, false)) return;
        check(!one.is_whole(), "a failure is forgotten");
      });
  check(one.is_through(bytes), "not through with all pieces dealt with");
}

// The fields of the sender's operation, which names the buffer: when all pieces are finished, it completes, and another
// post uses it. The sender reads them after it has claimed a piece.
void read_when_claimed() {
  copy_state& one = fresh();
  target into;
  std::uint64_t fields = 7;
  one.open(1);
  threads(
      [&] {
        receive(one, 1, into);
        if (!one.is_through(bytes)) return;
        const std::uint64_t next_use = 8;
        model_atomics::write_nonatomic(&fields, &next_use, sizeof next_use);
      },
      [&] {
        const shared_piece piece = one.claim(1, bytes);
        if (piece.bytes == 0) return;
        std::uint64_t now = 0;
        model_atomics::read_nonatomic(&now, &fields, sizeof now);
        check(now == 7, "the fields are of another use");
        into.copy(piece, 9);
        one.finish(piece, true);
      });
}

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 4};

TEST_F(model_shared_copy, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"copied by both", copied_by_both, brief},
                                      {"heard too late", heard_too_late, brief},
                                      {"failed at the sender", failed_at_the_sender, brief},
                                      {"read when claimed", read_when_claimed, brief}};
  const planting_report report = plant_bugs(programs, {"/shared_copy.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
