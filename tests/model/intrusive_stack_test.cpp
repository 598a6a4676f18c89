// SPDX-License-Identifier: BSD-3-Clause
// The stack of the backlog, and the lock for which no thread waits, under the explorer.
#include "base/intrusive_stack.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>

#include "base/try_lock.hpp"
#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;

struct operation {
  operation* behind = nullptr;
  std::uint64_t adder = 0;
  std::uint64_t number = 0;
};
using stack = weft::base::intrusive_stack<operation, model_atomics>;
using lock = weft::base::basic_try_lock<model_atomics>;

class model_intrusive_stack : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

void add(stack& to, operation& added, std::uint64_t adder, std::uint64_t number) {
  model_atomics::write_nonatomic(&added.adder, &adder, sizeof adder);
  model_atomics::write_nonatomic(&added.number, &number, sizeof number);
  to.add(added);
}

// The longest waiting first: the operations of each adder come in the order in which it added them.
class arrivals {
 public:
  void take(operation* first) {
    for (; first != nullptr; first = first->behind) {
      std::uint64_t adder = 0;
      std::uint64_t number = 0;
      model_atomics::read_nonatomic(&adder, &first->adder, sizeof adder);
      model_atomics::read_nonatomic(&number, &first->number, sizeof number);
      check(adder < last_.size() && number == last_[adder] + 1, "an operation lost, twice or out of order");
      last_[adder] = number;
      ++count_;
    }
  }
  unsigned count() const { return count_; }

 private:
  std::array<std::uint64_t, 3> last_{};
  unsigned count_ = 0;
};

void adders_and_a_taker() {
  stack waiting;
  operation operations[5];
  arrivals taken;
  threads(
      [&] {
        for (unsigned i = 0; i < 3; ++i) add(waiting, operations[i], 1, i + 1);
      },
      [&] {
        for (unsigned i = 0; i < 2; ++i) add(waiting, operations[3 + i], 2, i + 1);
      },
      [&] {
        taken.take(waiting.take_all());
        taken.take(waiting.take_all());
      });
  taken.take(waiting.take_all());
  check(taken.count() == 5 && waiting.is_empty(), "an operation is lost");
}

// A taken element is added again, as progress does with operations that can't continue yet.
void taken_and_added_again() {
  stack waiting;
  operation operations[2];
  unsigned taken = 0;
  const auto work = [&](operation& own) {
    std::uint64_t number = 1;
    add(waiting, own, 1, number);
  };
  threads([&] { work(operations[0]); }, [&] { work(operations[1]); },
          [&] {
            for (int round = 0; round < 2; ++round) {
              operation* first = waiting.take_all();
              while (first != nullptr) {
                operation* next = first->behind;
                waiting.add(*first);
                first = next;
              }
            }
          });
  for (operation* each = waiting.take_all(); each != nullptr; each = each->behind) ++taken;
  check(taken == 2, "an operation is lost");
}

// The taker asks whether one node is alone before it takes: then no other one was there before.
void asked_whether_it_is_alone() {
  stack waiting;
  operation operations[2];
  threads([&] { add(waiting, operations[0], 1, 1); }, [&] { add(waiting, operations[1], 1, 1); },
          [&] {
            const bool is_alone = waiting.is_just(operations[1]);
            operation* const first = waiting.take_all();
            check(!is_alone || first == &operations[1], "a node was called alone that was not");
            while (waiting.take_all() != nullptr) {
            }
          });
}

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 4};

TEST_F(model_intrusive_stack, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"adders and a taker", adders_and_a_taker, brief},
                                      {"taken and added again", taken_and_added_again, brief},
                                      {"asked whether it is alone", asked_whether_it_is_alone, brief}};
  const planting_report report = plant_bugs(programs, {"/intrusive_stack.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

void one_inside_at_a_time() {
  lock door;
  std::uint64_t room = 0;
  unsigned visits = 0;
  const auto visit = [&](std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      if (!door.try_enter()) continue;
      std::uint64_t before = 0;
      model_atomics::read_nonatomic(&before, &room, sizeof before);
      ++before;
      model_atomics::write_nonatomic(&room, &before, sizeof before);
      ++visits;
      door.leave();
    }
  };
  threads([&] { visit(2); }, [&] { visit(2); }, [&] { visit(1); });
  check(room == visits && visits >= 1, "a visit is lost");
  check(door.try_enter() && !door.try_enter(), "open while somebody is inside, or closed while nobody is");
}

TEST_F(model_intrusive_stack, the_try_lock_holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"one inside at a time", one_inside_at_a_time, brief}};
  const planting_report report = plant_bugs(programs, {"/try_lock.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
