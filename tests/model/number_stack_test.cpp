// SPDX-License-Identifier: BSD-3-Clause
// The stack of numbered nodes under the explorer: two threads never have one node, and a taken node carries its bytes.
#include "mpi/objects/number_stack.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;

class model_number_stack : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

struct node {
  std::uint32_t number = 0;
  atomic<std::uint32_t> below{0};
  std::uint64_t bytes = 0;

  // Only the thread that has taken the node may do this.
  void use(std::uint64_t value) {
    std::uint64_t before = 0;
    model_atomics::read_nonatomic(&before, &bytes, sizeof before);
    model_atomics::write_nonatomic(&bytes, &value, sizeof value);
  }
};
using stack = weft::mpi::basic_number_stack<node, model_atomics>;

struct house {
  stack free;
  std::array<node, 3> nodes;

  house() {
    for (std::uint32_t number = 0; number < nodes.size(); ++number) {
      nodes[number].number = number;
      free.push(nodes[number]);
    }
  }
  node& find(std::uint32_t number) {
    check(number < nodes.size(), "no such node");
    return nodes[number];
  }
  node* pop() {
    return free.pop([this](std::uint32_t number) -> node& { return find(number); });
  }
  // Takes all, uses each, and puts it back.
  void take_all(std::uint64_t thread) {
    for (std::uint32_t number = free.take_all(); number != stack::none;) {
      node& taken = find(number);
      number = taken.below.load(std::memory_order_relaxed);  // [own] this thread has taken the links of all
      taken.use(thread);
      free.push(taken);
    }
  }
  void expect_all() {
    std::array<bool, 3> seen{};
    unsigned found = 0;
    for (const node* each = pop(); each != nullptr; each = pop(), ++found) {
      check(!seen[each->number], "a node twice");
      seen[each->number] = true;
    }
    check(found == 3 && free.take_all() == stack::none, "a node is lost");
  }
};

void take_use_and_put_back() {
  house made;
  const auto work = [&](std::uint64_t thread, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      node* const taken = made.pop();
      check(taken != nullptr, "empty with a node for each thread");
      taken->use(thread);
      made.free.push(*taken);
    }
  };
  threads([&] { work(1, 2); }, [&] { work(2, 2); }, [&] { work(3, 1); });
  made.expect_all();
}

// Two are taken, and one is put back, while another thread is between its look and its exchange.
void swap_under_a_look() {
  house made;
  threads(
      [&] {
        node* const first = made.pop();
        node* const second = made.pop();
        check(first != nullptr && second != nullptr && first != second, "a node twice, or none");
        first->use(1);
        second->use(1);
        made.free.push(*first);
      },
      [&] {
        node* const taken = made.pop();
        check(taken != nullptr, "empty with a node for each thread");
        taken->use(2);
      });
}

void all_are_taken_beside_one() {
  house made;
  const auto one = [&](std::uint64_t thread) {
    node* const taken = made.pop();
    if (taken == nullptr) return;
    taken->use(thread);
    made.free.push(*taken);
  };
  threads([&] { made.take_all(1); }, [&] { one(2); }, [&] { made.take_all(3); });
  made.expect_all();
}

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 4};

TEST_F(model_number_stack, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"take, use and put back", take_use_and_put_back, brief},
                                      {"swap under a look", swap_under_a_look, brief},
                                      {"all are taken beside one", all_are_taken_beside_one, brief}};
  const planting_report report = plant_bugs(programs, {"/number_stack.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
