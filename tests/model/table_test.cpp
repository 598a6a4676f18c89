// SPDX-License-Identifier: BSD-3-Clause
// The table of ids under the explorer: readers never see less than what is there, nor anything else.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

#include "base/id_table.hpp"
#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using weft::base::presence;

using table = weft::base::id_table<model_atomics>;

// A number that is read before and after another thread writes it, as `table` alone orders it.
struct ordered_by_table {
  atomic<int> number{0};

  // relaxed: a thread that finds the new state of an id in the table must see it.
  void write(int is) { number.store(is, std::memory_order_relaxed); }
  int read() const { return number.load(std::memory_order_relaxed); }
};

class model_table : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

const search brief{.executions_max = 4000, .random_executions_max = 2000, .deviations_max = 3};

// Ids that collide in every small table; it grows for each but the last.
void ids_come_and_go() {
  table shared(1);
  ordered_by_table objects[4];
  atomic<int> known{0};
  constexpr std::uint32_t ids[4] = {0, 64, 128, 192};
  threads(
      [&] {
        for (int i = 0; i < 4; ++i) {
          objects[i].write(i + 1);
          check(shared.insert(ids[i], &objects[i]), "a new id is refused");
          // [model_table.insert] release -> [model_table.count]: the ids that are in the table.
          known.store(i + 1, std::memory_order_release);
        }
      },
      [&] {
        // [model_table.count] acquire <- [model_table.insert]: the ids that must be found.
        const int count = known.load(std::memory_order_acquire);
        for (int i = 0; i < 4; ++i) {
          const auto* found = static_cast<const ordered_by_table*>(shared.find(ids[i]));
          check(found != nullptr || i >= count, "an id is forgotten");
          check(found == nullptr || found->read() == i + 1, "the wrong object, or an old one");
        }
        check(shared.state(1) == presence::unknown, "an id from nowhere");
      },
      [&] {
        const auto* found = static_cast<const ordered_by_table*>(shared.try_find_all(ids[3]));
        check(found == nullptr || found->read() == 4, "the wrong object, or an old one");
      });
}

// The first probe alone: it may find nothing, but never something else.
void ids_are_found_at_once() {
  table shared(3);
  ordered_by_table objects[2];
  ordered_by_table reason;
  threads(
      [&] {
        for (int i = 0; i < 2; ++i) {
          objects[i].write(i + 1);
          check(shared.insert(static_cast<std::uint32_t>(i), &objects[i]), "a new id is refused");
        }
        check(shared.try_find(1) == &objects[1], "a small dense id is not where it says");
        reason.write(1);
        check(shared.withdraw(0), "a present id is not");
      },
      [&] {
        for (std::uint32_t id = 0; id < 2; ++id) {
          const auto* found = static_cast<const ordered_by_table*>(shared.try_find(id));
          check(found == nullptr || found->read() == static_cast<int>(id) + 1, "the wrong object, or an old one");
        }
      });
  check(shared.try_find(0) == nullptr, "a withdrawn id is found");
}

void ids_are_withdrawn() {
  table shared(1);
  ordered_by_table object;
  ordered_by_table reason;
  check(shared.insert(5, &object), "a new id is refused");
  threads(
      [&] {
        reason.write(1);
        check(shared.withdraw(5), "a present id is not");
        check(!shared.insert(5, &object), "a withdrawn id is taken again");
      },
      [&] { check(shared.insert(7, &object), "a new id is refused"); },
      [&] {
        const weft::base::id_entry seen = shared.look_up(5);
        check(seen.state != presence::unknown, "an id is forgotten");
        check((seen.object == &object) == (seen.state == presence::present), "an object without its id");
        if (seen.state == presence::withdrawn) check(reason.read() == 1, "withdrawn before its time");
      });
  check(shared.state(5) == presence::withdrawn && shared.state(7) == presence::present, "an id is lost");
}

// Tombstones leave the table under a reader, and under a thread that makes it grow. The old table goes when the reader
// has left, as after a look at its gate.
void ids_leave_the_table() {
  table shared(1, 1);
  ordered_by_table objects[2] = {{1}, {0}};
  ordered_by_table reason;
  atomic<int> left{0};
  table::outdated old;
  check(shared.insert(5, &objects[0]), "a new id is refused");
  check(shared.insert(9, &objects[0]) && shared.insert(13, &objects[0]), "a new id is refused");
  threads(
      [&] {
        reason.write(1);
        check(shared.withdraw(9) && shared.withdraw(13), "a present id is not");
        old = shared.compact();
        check(shared.state(9) == presence::withdrawn, "an id is forgotten");
        // [model_table.left] acquire <- [model_table.leave]: nobody looks into the old table any more.
        if (left.load(std::memory_order_acquire) == 1) old.reset();
      },
      [&] {
        for (const std::uint32_t id : {9u, 13u}) {
          const weft::base::id_entry seen = shared.look_up(id);
          check(seen.state != presence::unknown, "an id is forgotten");
          check(shared.try_find(id) == nullptr || seen.state == presence::present, "a withdrawn id is back");
          if (seen.state == presence::withdrawn) check(reason.read() == 1, "withdrawn before its time");
        }
        const auto* found = static_cast<const ordered_by_table*>(shared.find(5));
        check(found != nullptr && found->read() == 1, "the wrong object, or none");
        const auto* late = static_cast<const ordered_by_table*>(shared.find(7));
        check(late == nullptr || late->read() == 2, "the wrong object, or an old one");
        // [model_table.leave] release -> [model_table.left]: all looks are over.
        left.store(1, std::memory_order_release);
      },
      [&] {
        objects[1].write(2);
        check(shared.insert(7, &objects[1]), "a new id is refused");
      });
  check(old == nullptr || shared.find(5) == &objects[0], "the old table is the newest");
  check(shared.find(7) == &objects[1], "an id is lost");
  check(shared.state(9) == presence::withdrawn && shared.state(13) == presence::withdrawn, "an id is forgotten");
  check(!shared.insert(9, &objects[0]), "a withdrawn id is taken again");
}

void ids_are_given_once() {
  table shared(1);
  ordered_by_table objects[2];
  bool given[2] = {false, false};
  threads([&] { given[0] = shared.insert(9, &objects[0]); }, [&] { given[1] = shared.insert(9, &objects[1]); });
  check(given[0] != given[1], "an id is given twice, or never");
  check(shared.find(9) == &objects[given[0] ? 0 : 1], "the wrong object");
}

TEST_F(model_table, the_table_of_ids_holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"come and go", ids_come_and_go, brief},
                                      {"found at once", ids_are_found_at_once, brief},
                                      {"withdrawn", ids_are_withdrawn, brief},
                                      {"leave the table", ids_leave_the_table, brief},
                                      {"given once", ids_are_given_once, brief}};
  const planting_report report = plant_bugs(programs, {"/id_table.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
