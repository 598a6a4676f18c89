// SPDX-License-Identifier: BSD-3-Clause
// The lock with which a thread can leave a node, under the explorer: the thread inside handles each node once, in the
// order in which the nodes of each thread were left, and no node is left at a lock that is free.
#include "core/matching/handover_lock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "core/matching/match_node.hpp"
#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;

struct node {
  weft::core::guarded<node*, model_atomics> behind;
  std::uint64_t owner = 0;
  std::uint64_t number = 0;
};
using lock = weft::core::basic_handover_lock<node, model_atomics>;

void name(node& mine, std::uint64_t owner, std::uint64_t number) {
  model_atomics::write_nonatomic(&mine.owner, &owner, sizeof owner);
  model_atomics::write_nonatomic(&mine.number, &number, sizeof number);
}

// Guarded by the lock: the last number of each owner, and how many nodes were handled.
class guarded_log {
 public:
  void handle(const node& one) {
    std::uint64_t owner = 0, number = 0, last = 0;
    model_atomics::read_nonatomic(&owner, &one.owner, sizeof owner);
    model_atomics::read_nonatomic(&number, &one.number, sizeof number);
    check(owner < last_.size(), "no node of these");
    model_atomics::read_nonatomic(&last, &last_[owner], sizeof last);
    check(number == last + 1, "a node lost, twice or out of order");
    model_atomics::write_nonatomic(&last_[owner], &number, sizeof number);
    std::uint64_t count = 0;
    model_atomics::read_nonatomic(&count, &count_, sizeof count);
    ++count;
    model_atomics::write_nonatomic(&count_, &count, sizeof count);
  }
  [[nodiscard]] std::uint64_t last_of(std::size_t owner) const { return last_[owner]; }

 private:
  std::array<std::uint64_t, 3> last_{};
  std::uint64_t count_ = 0;
};

struct guarded_by_lock {
  lock door;
  guarded_log log;

  void leave() {
    while (!door.try_leave()) {
      for (node* each = door.take_left(); each != nullptr;) {
        node& one = *each;
        each = one.behind.get();
        log.handle(one);
        name(one, 9, 0);  // it belongs to this thread now
      }
    }
  }
  void visit(node& mine) {
    if (!door.enter_or_leave_behind(mine)) return;
    log.handle(mine);
    leave();
  }
};

void nodes_are_handled_once_and_in_order() {
  kept_until_the_end<guarded_by_lock> at;
  kept_until_the_end<std::array<node, 5>> nodes;
  const auto visit = [&](std::size_t index, std::uint64_t owner, std::uint64_t number) {
    name((*nodes.object)[index], owner, number);
    at->visit((*nodes.object)[index]);
  };
  threads(
      [&] {
        visit(0, 0, 1);
        visit(1, 0, 2);
      },
      [&] {
        visit(2, 1, 1);
        visit(3, 1, 2);
      },
      [&] { visit(4, 2, 1); });
  check(at->log.last_of(0) == 2 && at->log.last_of(1) == 2 && at->log.last_of(2) == 1, "a node is left");
  check(at->door.try_enter() && at->door.try_leave(), "it stays taken");
}

// Threads that do something else if they do not get the lock, beside one that leaves nodes.
void some_do_not_wait() {
  kept_until_the_end<guarded_by_lock> at;
  kept_until_the_end<std::array<node, 3>> nodes;
  threads(
      [&] {
        for (std::size_t i = 0; i < 2; ++i) {
          name((*nodes.object)[i], 0, i + 1);
          at->visit((*nodes.object)[i]);
        }
      },
      [&] {
        if (!at->door.try_enter()) return;
        name((*nodes.object)[2], 1, 1);
        at->log.handle((*nodes.object)[2]);
        at->leave();
      },
      [&] {
        if (at->door.try_enter()) at->leave();
      });
  check(at->log.last_of(0) == 2, "a node is left");
  check(at->door.try_enter() && at->door.try_leave(), "it stays taken");
}

class model_handover_lock : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

TEST_F(model_handover_lock, holds_and_no_planted_bug_goes_unnoticed) {
  const search brief{.executions_max = 40000, .random_executions_max = 10000, .deviations_max = 4};
  const std::vector<program> programs{{"once and in order", nodes_are_handled_once_and_in_order, brief},
                                      {"some do not wait", some_do_not_wait, brief}};
  const planting_report report = plant_bugs(programs, {"/handover_lock.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
