// SPDX-License-Identifier: BSD-3-Clause
// The growth of the matching table under the explorer: while buckets are split, each node is found once, by a match or
// by a thread that cancels it, also by threads that know an old number of buckets.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <vector>

#include "core/matching/matching_table.hpp"
#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using weft::match_policy;
using weft::core::make_match_key;
using weft::core::match_key;
using weft::core::match_result;
using weft::core::match_side;

using table = weft::core::basic_matching_table<model_atomics>;
using shared_table = kept_until_the_end<table>;

match_key key_of(std::uint64_t tag) { return make_match_key(1, match_policy::tag_only, 0, tag); }

// The tags whose fingerprints modulo `count` are `index`, by number.
std::uint64_t tag_in(std::uint64_t index, std::uint64_t count, unsigned number) {
  for (std::uint64_t tag = 0;; ++tag) {
    if (fingerprint(key_of(tag)) % count == index && number-- == 0) return tag;
  }
}

// A message with a payload that only its owner may touch.
struct message : table::node {
  std::uint64_t payload = 0;

  void set(std::uint64_t tag) {
    const match_key with = key_of(tag);
    const match_side of = match_side::send;
    model_atomics::write_nonatomic(&key, &with, sizeof with);
    model_atomics::write_nonatomic(&side, &of, sizeof of);
    model_atomics::write_nonatomic(&payload, &tag, sizeof tag);
  }
  std::uint64_t read() const {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &payload, sizeof out);
    return out;
  }
};

void insert(table& into, message& mine, std::uint64_t tag) {
  mine.set(tag);
  table::node* found = nullptr;
  match_result result = match_result::busy;
  while (result == match_result::busy) result = into.insert(mine, found);
  check(result == match_result::inserted, "matched with nothing there");
}

void take(table& from, const message& expected, std::uint64_t tag) {
  table::node* found = nullptr;
  match_result result = match_result::busy;
  while (result == match_result::busy) result = from.take(key_of(tag), match_side::send, found);
  check(result == match_result::matched && found == &expected, "a message is lost");
  check(static_cast<const message*>(found)->read() == tag, "not the message as it was sent");
}

void cancel(table& from, message& which) {
  match_result result = match_result::busy;
  while (result == match_result::busy) result = from.remove(which);
  check(result == match_result::removed, "a message is lost");
  static_cast<void>(which.read());
}

void check_empty(table& of) {
  const weft::core::match_counts counts = of.count();
  check(counts.sends + counts.receives + counts.spilled_keys + counts.unseen_buckets == 0, "something is left");
}

// A full table of one bucket, of at most `most`. Tag `i` lies in bucket `i` of two, the third one in the second.
struct full_table {
  shared_table shared;
  message first[3];
  std::uint64_t tags[3] = {tag_in(0, 2, 0), tag_in(1, 2, 0), tag_in(1, 2, 1)};

  explicit full_table(std::uint32_t most) : shared(1U, most, 1U) {
    for (unsigned i = 0; i < 3; ++i) insert(*shared.object, first[i], tags[i]);
  }
  table& operator*() { return *shared.object; }
};

// One adds a key, which doubles the number of buckets; meanwhile the others match and cancel the keys that are there.
void keys_move_while_they_are_matched() {
  full_table shared(2);
  message added;
  const std::uint64_t tag = tag_in(1, 2, 2);
  threads(
      [&] {
        insert(*shared, added, tag);
        take(*shared, added, tag);
      },
      [&] {
        take(*shared, shared.first[1], shared.tags[1]);
        take(*shared, shared.first[0], shared.tags[0]);
      },
      [&] { cancel(*shared, shared.first[2]); });
  check_empty(*shared);
}

// The number has doubled, and no bucket is split: one comes to the lower one of two, others to the upper one.
void both_buckets_are_wanted() {
  full_table shared(2);
  message added[2];
  const std::uint64_t tags[2] = {tag_in(0, 2, 1), tag_in(1, 2, 2)};
  insert(*shared, added[0], tags[0]);
  check((*shared).bucket_count() == 2, "the table has not grown");
  threads(
      [&] {
        take(*shared, added[0], tags[0]);
        take(*shared, shared.first[1], shared.tags[1]);
      },
      [&] {
        insert(*shared, added[1], tags[1]);
        take(*shared, shared.first[0], shared.tags[0]);
      },
      [&] { cancel(*shared, shared.first[2]); });
  take(*shared, added[1], tags[1]);
  check_empty(*shared);
}

// Two threads make the table grow, from one bucket to four; a third one comes with any number that it has read.
void the_number_doubles_twice() {
  full_table shared(4);
  message added[2][2];
  const auto tag_of = [](unsigned thread, unsigned i) { return tag_in(1, 4, 2 + 2 * thread + i); };
  const auto work = [&](unsigned thread) {
    for (unsigned i = 0; i < 2; ++i) insert(*shared, added[thread][i], tag_of(thread, i));
  };
  threads([&] { work(0); }, [&] { work(1); },
          [&] {
            take(*shared, shared.first[2], shared.tags[2]);
            cancel(*shared, shared.first[0]);
          });
  for (unsigned thread = 0; thread < 2; ++thread) {
    for (unsigned i = 0; i < 2; ++i) take(*shared, added[thread][i], tag_of(thread, i));
  }
  take(*shared, shared.first[1], shared.tags[1]);
  check_empty(*shared);
}

// A report sees each message that waits all the time, at least once.
void visitors_miss_nothing() {
  full_table shared(2);
  message added[2];
  std::size_t seen = 0;
  threads(
      [&] {
        insert(*shared, added[0], tag_in(1, 2, 2));
        insert(*shared, added[1], tag_in(1, 2, 3));
      },
      [&] {
        bool is_seen[3] = {};
        const std::size_t unseen = (*shared).for_each([&](const table::node& each) {
          for (unsigned i = 0; i < 3; ++i) is_seen[i] |= &each == &shared.first[i];
        });
        seen = unseen == 0 ? std::size_t{is_seen[0]} + is_seen[1] + is_seen[2] : 3;
      });
  check(seen == 3, "a message is not seen");
  table::node* all = nullptr;
  check((*shared).extract([](const table::node&) { return true; }, all) == 0, "a bucket is still locked");
  unsigned count = 0;
  for (; all != nullptr; all = all->behind.get()) ++count;
  check(count == 5, "a message is lost, or there twice");
  check_empty(*shared);
}

class model_matching_growth : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

const search brief{.executions_max = 6000, .random_executions_max = 3000, .deviations_max = 4};

TEST_F(model_matching_growth, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"keys move while they are matched", keys_move_while_they_are_matched, brief},
                                      {"both buckets are wanted", both_buckets_are_wanted, brief},
                                      {"the number doubles twice", the_number_doubles_twice, brief},
                                      {"visitors miss nothing", visitors_miss_nothing, brief}};
  const char* const newest = "exchanges see the newest value here; elsewhere they could come too early";
  const std::vector<harmless> tolerated{
      {"matching.count", bug::drop_acquire, newest},
      {"matching.counted", bug::drop_acquire, newest},
      {"matching.doubled", bug::drop_release, newest},
      {"matching.spilling", bug::tear, "a wrong number of full buckets makes the table grow earlier or later"},
  };
  const planting_report report = plant_bugs(
      programs, {"/matching_table.hpp", "/match_bucket.hpp", "/match_buckets.hpp", "/try_lock.hpp"}, tolerated);
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
