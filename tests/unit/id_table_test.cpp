#include "weft/detail/id_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using weft::detail::id_table;
using weft::detail::presence;

TEST(id_table, tells_unknown_present_and_withdrawn_apart) {
  id_table<> table;
  int object = 0;
  EXPECT_EQ(table.state(7), presence::unknown);
  EXPECT_EQ(table.find(7), nullptr);
  EXPECT_FALSE(table.withdraw(7));
  EXPECT_TRUE(table.insert(7, &object));
  EXPECT_EQ(table.state(7), presence::present);
  EXPECT_EQ(table.find(7), &object);
  EXPECT_TRUE(table.withdraw(7));
  EXPECT_EQ(table.state(7), presence::withdrawn);
  EXPECT_EQ(table.find(7), nullptr);
  EXPECT_FALSE(table.withdraw(7));
}

TEST(id_table, never_takes_an_id_twice) {
  id_table<> table;
  int first = 0;
  int second = 0;
  EXPECT_TRUE(table.insert(0, &first));
  EXPECT_FALSE(table.insert(0, &second));
  EXPECT_EQ(table.find(0), &first);
  EXPECT_TRUE(table.withdraw(0));
  EXPECT_FALSE(table.insert(0, &second));
}

TEST(id_table, takes_any_id_and_survives_growth) {
  id_table<> table(1);
  std::vector<std::uint32_t> ids{0, 1, 0xffffffffu, 0xfffffffeu, 0x80000000u};
  for (std::uint32_t i = 1; i < 500; ++i) ids.push_back(i * 65536u);
  for (std::uint32_t i = 2; i < 500; ++i) ids.push_back(i);
  std::vector<int> objects(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(table.state(ids[i]), presence::unknown) << ids[i];
    ASSERT_TRUE(table.insert(ids[i], &objects[i])) << ids[i];
    if (i % 3 == 0) {
      ASSERT_TRUE(table.withdraw(ids[i]));
    }
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(table.state(ids[i]), i % 3 == 0 ? presence::withdrawn : presence::present);
    ASSERT_EQ(table.find(ids[i]), i % 3 == 0 ? nullptr : &objects[i]);
  }
  EXPECT_EQ(table.state(12345678), presence::unknown);
}

TEST(id_table, finds_what_is_there_while_others_insert_and_withdraw) {
  id_table<> table(1);
  std::vector<std::uint64_t> objects(2000, 42);
  std::atomic<std::uint32_t> inserted{0};
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (std::uint32_t i = 0; i < 2000; ++i) {
      if (!table.insert(i * 17, &objects[i])) failed = true;
      if (i % 5 == 0 && !table.withdraw(i * 17)) failed = true;
      inserted.store(i + 1, std::memory_order_release);
    }
  });
  for (int reader = 0; reader < 3; ++reader) {
    threads.emplace_back([&] {
      for (std::uint32_t known = 0; known < 2000;) {
        known = inserted.load(std::memory_order_acquire);
        for (std::uint32_t i = known > 50 ? known - 50 : 0; i < known; ++i) {
          void* expected = i % 5 == 0 ? nullptr : &objects[i];
          if (table.find(i * 17) != expected) failed = true;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failed.load());
}

}  // namespace
