// SPDX-License-Identifier: BSD-3-Clause
// Variables of which each fiber has its own.
#include "weft/fiber_local.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "weft/fiber.hpp"

namespace weft {
namespace {

struct counted {
  static inline int alive = 0;
  counted() { ++alive; }
  ~counted() { --alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  std::uint64_t value = 0;
};

TEST(fiber_local, each_fiber_has_its_own_until_it_ends) {
  fiber_local<counted> mine;
  fiber_scheduler fibers;
  std::vector<fiber> all;
  for (std::uint64_t i = 1; i <= 50; ++i) {
    all.push_back(fibers.spawn([&, i] {
      EXPECT_EQ(mine->value, 0U);
      mine->value = i;
      for (int round = 0; round < 3; ++round) {
        this_fiber::yield();
        EXPECT_EQ(mine->value, i);
      }
    }));
  }
  for (fiber& each : all) each.join();
  EXPECT_EQ(counted::alive, 0);
  // A fiber on a stack that was used before begins anew.
  fibers.spawn([&] { EXPECT_EQ(mine->value, 0U); }).join();
  EXPECT_EQ(counted::alive, 0);
}

TEST(fiber_local, a_thread_has_one_and_so_has_each_variable) {
  fiber_local<int> first;
  fiber_local<int> second;
  *first = 1;
  *second = 2;
  std::thread{[&] {
    EXPECT_EQ(*first, 0);
    *first = 3;
  }}.join();
  fiber_scheduler fibers;
  fibers.spawn([&] { EXPECT_EQ(*first + *second, 0); }).join();
  EXPECT_EQ(*first, 1);
  EXPECT_EQ(*second, 2);
}

fiber_local<std::vector<int>> looked_at;
struct looks_at_another {
  looks_at_another() { looked_at->push_back(1); }
  ~looks_at_another() { looked_at->push_back(2); }
  looks_at_another(const looks_at_another&) = delete;
  looks_at_another& operator=(const looks_at_another&) = delete;
  int value = 5;
};

TEST(fiber_local, may_look_at_another_while_it_begins_and_ends) {
  fiber_local<looks_at_another> outer;
  fiber_scheduler fibers;
  fibers
      .spawn([&] {
        EXPECT_EQ(outer->value, 5);
        EXPECT_EQ(looked_at->size(), 1U);
      })
      .join();
}

TEST(fiber_local, of_a_variable_that_has_ended_stays_until_its_fiber_ends) {
  auto gone = std::make_unique<fiber_local<counted>>();
  fiber_scheduler fibers;
  fibers
      .spawn([&] {
        (*gone)->value = 1;
        gone.reset();
        EXPECT_EQ(counted::alive, 1);
      })
      .join();
  EXPECT_EQ(counted::alive, 0);
}

}  // namespace
}  // namespace weft
