// SPDX-License-Identifier: BSD-3-Clause
// Words that threads read and replace as a whole, under the explorer: no reader sees words of two versions, no version
// is replaced twice, and a slot that is used again deceives no reader.
#include "mpi/clock/published_record.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using weft::mpi::replacement;
using record = weft::mpi::basic_published_record<2, 2, model_atomics>;
using wide_record = weft::mpi::basic_published_record<2, 4, model_atomics>;

class model_published_record : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// The second word is three times the first one, which counts the replacements.
template <class Record>
void read_one(const Record& shared, std::uint64_t& last) {
  const auto seen = shared.current();
  typename Record::template words<2> read{};
  if (!shared.try_read(seen, read)) return;
  check(read[1] == 3 * read[0], "words of two versions");
  check(read[0] >= last, "an older version than before");
  last = read[0];
}

// Returns whether this thread has replaced the version that it has read.
template <class Record>
bool replace_one(Record& shared) {
  const auto seen = shared.current();
  typename Record::template words<2> read{};
  if (!shared.try_read(seen, read) || Record::is_closed(seen)) return false;
  check(read[1] == 3 * read[0], "words of two versions");
  const std::uint64_t next = read[0] + 1;
  return shared.try_replace(seen, {next, 3 * next}) == replacement::done;
}

template <class Record>
void check_end(const Record& shared, std::uint64_t count, int slots = 2) {
  typename Record::template words<2> read{};
  check(shared.try_read(shared.current(), read), "it is replaced by no thread");
  check(read[0] == count && read[1] == 3 * count, "a replacement is lost");
  check(shared.free_slots() == slots - 1, "a slot is lost");
}

void slots_are_used_again() {
  record shared;
  std::uint64_t replaced = 0;
  threads(
      [&] {
        for (int i = 0; i < 3; ++i) replaced += replace_one(shared) ? 1 : 0;
      },
      [&] {
        std::uint64_t last = 0;
        for (int i = 0; i < 2; ++i) read_one(shared, last);
      });
  check(replaced == 3, "nothing stands in the way of the only writer");
  check_end(shared, 3);
}

// Two threads replace the record twice each, and one reads it so often. Returns how many replacements were done.
std::uint64_t replace_beside_reads(auto& shared, int reads) {
  std::uint64_t replaced[2] = {0, 0};
  const auto replace_twice = [&](std::uint64_t& count) {
    for (int i = 0; i < 2; ++i) count += replace_one(shared) ? 1 : 0;
  };
  threads([&] { replace_twice(replaced[0]); }, [&] { replace_twice(replaced[1]); },
          [&] {
            std::uint64_t last = 0;
            for (int i = 0; i < reads; ++i) read_one(shared, last);
          });
  return replaced[0] + replaced[1];
}

void threads_replace_each_others() {
  wide_record shared;
  const std::uint64_t replaced = replace_beside_reads(shared, 2);
  check(replaced >= 2, "no thread gets on");
  check_end(shared, replaced, 4);
}

void two_writers_share_two_slots() {
  record shared;
  check_end(shared, replace_beside_reads(shared, 1));
}

void a_closed_record_stays_as_it_is() {
  record shared;
  std::uint64_t replaced = 0;
  threads([&] { replaced += replace_one(shared) ? 1 : 0; },
          [&] {
            const auto seen = shared.current();
            shared.close(seen);
            const auto now = shared.current();
            check(record::is_closed(now) || now != seen, "it is neither closed nor replaced");
            if (record::is_closed(now)) check(now == (seen | 2), "another version is closed");
          });
  check_end(shared, replaced);
}

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 5};

TEST_F(model_published_record, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"slots are used again", slots_are_used_again, brief},
                                      {"threads replace each other's", threads_replace_each_others, brief},
                                      {"two writers share two slots", two_writers_share_two_slots, brief},
                                      {"a closed record", a_closed_record_stays_as_it_is, brief}};
  const planting_report report = plant_bugs(programs, {"/published_record.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
