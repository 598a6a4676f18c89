// SPDX-License-Identifier: BSD-3-Clause
// The stack of indices under the explorer: two threads never have one index, and a taken index carries its bytes.
#include "core/memory/index_stack.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <optional>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using stack = weft::core::basic_index_stack<model_atomics>;

class model_index_stack : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// Executions that fail leave their stacks as they are, so objects that allocate live outside.
stack& fresh(std::uint32_t count) {
  static std::optional<stack> kept;
  return kept.emplace(count);
}

// The elements of the indices: bytes that only the holder of an index may touch.
struct indexed_bytes {
  std::uint64_t bytes[3] = {};

  void use(std::uint32_t index, std::uint64_t value) {
    std::uint64_t before = 0;
    check(index < 3, "no such index");
    model_atomics::read_nonatomic(&before, &bytes[index], sizeof before);
    model_atomics::write_nonatomic(&bytes[index], &value, sizeof value);
  }
};

void take_use_and_give_back() {
  stack& free = fresh(3);
  indexed_bytes under;
  for (std::uint32_t i = 0; i < 3; ++i) free.push(i);
  const auto work = [&](std::uint64_t thread, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const std::uint32_t index = free.pop();
      check(index != stack::none, "empty with an index for everyone");
      under.use(index, thread);
      free.push(index);
    }
  };
  threads([&] { work(1, 2); }, [&] { work(2, 2); }, [&] { work(3, 1); });
  unsigned found = 0;
  std::array<bool, 3> seen{};
  for (std::uint32_t index = free.pop(); index != stack::none; index = free.pop()) {
    check(index < 3 && !seen[index], "an index twice");
    seen[index] = true;
    ++found;
  }
  check(found == 3 && free.looks_empty(), "an index is lost");
}

// Two are taken and given back in the other order while a third thread is between its look and its exchange.
void swap_under_a_look() {
  stack& free = fresh(3);
  indexed_bytes under;
  for (std::uint32_t i = 0; i < 3; ++i) free.push(i);
  threads(
      [&] {
        const std::uint32_t first = free.pop();
        const std::uint32_t second = free.pop();
        check(first != stack::none && second != stack::none && first != second, "an index twice, or none");
        under.use(first, 1);
        under.use(second, 1);
        free.push(first);
      },
      [&] {
        const std::uint32_t index = free.pop();
        check(index != stack::none, "empty with an index for everyone");
        under.use(index, 2);
      });
}

// One thread takes and gives back several together while others do so one by one.
void many_at_once() {
  stack& free = fresh(3);
  indexed_bytes under;
  for (std::uint32_t i = 0; i < 3; ++i) free.push(i);
  const auto one_by_one = [&](std::uint64_t thread) {
    const std::uint32_t index = free.pop();
    if (index == stack::none) return;
    under.use(index, thread);
    free.push(index);
  };
  const auto many = [&](std::uint64_t thread) {
    std::uint32_t taken[2];
    const std::uint32_t count = free.pop_many(taken, 2);
    check(count <= 2, "more than there is room for");
    for (std::uint32_t i = 0; i < count; ++i) under.use(taken[i], thread);
    free.push_many(taken, count);
  };
  threads([&] { many(1); }, [&] { one_by_one(2); }, [&] { many(3); });
  std::uint32_t all[4];
  check(free.pop_many(all, 4) == 3 && free.looks_empty(), "an index is lost");
  check(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "an index twice");
}

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 4};

TEST_F(model_index_stack, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"take, use and give back", take_use_and_give_back, brief},
                                      {"swap under a look", swap_under_a_look, brief},
                                      {"many at once", many_at_once, brief}};
  const planting_report report = plant_bugs(programs, {"/index_stack.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
