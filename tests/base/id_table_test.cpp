// SPDX-License-Identifier: BSD-3-Clause
#include "base/id_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/random_seed.hpp"

namespace {

using weft::base::id_table;
using weft::base::presence;

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

TEST(id_table, tells_unknown_present_and_withdrawn_apart_after_tombstones_have_left) {
  id_table<> table(1, 4);
  int object = 0;
  for (const std::uint32_t id : {0u, 1u, 2u, 9u, 0xffffffffu, 0xfffffffeu, 7u, 100u}) {
    ASSERT_TRUE(table.insert(id, &object));
  }
  for (const std::uint32_t id : {2u, 0u, 0xffffffffu, 0xfffffffeu, 9u}) ASSERT_TRUE(table.withdraw(id));
  EXPECT_NE(table.compact(), nullptr);
  EXPECT_EQ(table.compact(), nullptr) << "there are no tombstones any more";
  for (const std::uint32_t id : {2u, 0u, 0xffffffffu, 0xfffffffeu, 9u}) {
    EXPECT_EQ(table.state(id), presence::withdrawn) << id;
    EXPECT_EQ(table.try_find(id), nullptr) << id;
    EXPECT_FALSE(table.insert(id, &object)) << id << " is taken twice";
    EXPECT_FALSE(table.withdraw(id)) << id;
  }
  for (const std::uint32_t id : {1u, 7u, 100u}) EXPECT_EQ(table.find(id), &object) << id;
  for (const std::uint32_t id : {3u, 8u, 10u, 0xfffffffdu}) EXPECT_EQ(table.state(id), presence::unknown) << id;
}

TEST(id_table, ids_that_collide_are_found_without_the_lock_by_all_probes_alone) {
  id_table<> table;
  int objects[3];
  constexpr std::uint32_t ids[] = {7, 0x4000'0007, 0x6000'0007};
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(table.insert(ids[i], &objects[i]));
  EXPECT_EQ(table.try_find(ids[0]), &objects[0]);
  EXPECT_EQ(table.try_find(ids[1]), nullptr);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(table.try_find_all(ids[i]), &objects[i]);
  EXPECT_EQ(table.try_find_all(0x5000'0007), nullptr);
  ASSERT_TRUE(table.withdraw(ids[1]));
  EXPECT_EQ(table.try_find_all(ids[1]), nullptr);
  EXPECT_EQ(table.try_find_all(ids[2]), &objects[2]);
}

TEST(id_table, stays_small_while_a_million_ids_come_and_go_one_after_the_other) {
  id_table<> table;
  int object = 0;
  for (std::uint32_t id = 0; id < 5; ++id) ASSERT_TRUE(table.insert(id, &object));
  for (std::uint32_t id = 5; id < 1'000'000; ++id) {
    ASSERT_TRUE(table.insert(id, &object));
    ASSERT_TRUE(table.withdraw(id));
    static_cast<void>(table.compact());
    ASSERT_LE(table.bytes(), 4096u) << id;
  }
  for (std::uint32_t id = 0; id < 1'000'000; id += 997) {
    ASSERT_EQ(table.state(id), id < 5 ? presence::present : presence::withdrawn) << id;
  }
  EXPECT_EQ(table.state(1'000'000), presence::unknown);
}

TEST(id_table, with_a_bound_stays_small_while_ids_with_gaps_come_and_go_and_knows_the_newest) {
  constexpr std::uint32_t bound = 1000, step = 3, count = 100 * bound;
  constexpr std::size_t interval_bytes = 48, table_bytes = 4096;
  id_table<> table(1, 4, bound);
  int object = 0;
  ASSERT_TRUE(table.insert(1, &object));
  for (std::uint32_t i = 1; i <= count; ++i) {
    ASSERT_TRUE(table.insert(i * step, &object));
    ASSERT_TRUE(table.withdraw(i * step));
    static_cast<void>(table.compact());
    ASSERT_LE(table.bytes(), 2 * bound * interval_bytes + table_bytes) << i;
  }
  for (std::uint32_t i = count - bound + 1; i <= count; ++i) {
    ASSERT_EQ(table.state(i * step), presence::withdrawn) << i;
    ASSERT_EQ(table.state(i * step + 1), presence::unknown) << "the gap behind " << i;
  }
  EXPECT_EQ(table.state(step), presence::unknown) << "the oldest is forgotten";
  EXPECT_EQ(table.find(1), &object);
}

TEST(id_table, shrinks_when_many_ids_have_gone) {
  id_table<> table;
  int object = 0;
  for (std::uint32_t id = 0; id < 10'000; ++id) ASSERT_TRUE(table.insert(id, &object));
  const std::size_t full = table.bytes();
  for (std::uint32_t id = 0; id < 10'000; ++id) {
    ASSERT_TRUE(table.withdraw(id));
    static_cast<void>(table.compact());
  }
  EXPECT_LE(table.bytes(), full / 100);
}

// The same as a plain set of ids would say.
TEST(id_table, knows_random_ids_that_come_and_go) {
  std::mt19937_64 random{weft::test::random_seed()};
  id_table<> table(1, 8);
  std::vector<int> objects(5000);
  std::vector<int> seen(objects.size());  // 0: unknown, 1: present, 2: withdrawn
  for (int step = 0; step < 20'000; ++step) {
    const auto at = static_cast<std::uint32_t>(random() % objects.size());
    const std::uint32_t name = at % 2 == 0 ? at : at * 77'777;
    if (random() % 2 == 0) {
      ASSERT_EQ(table.insert(name, &objects[at]), seen[at] == 0);
      if (seen[at] == 0) seen[at] = 1;
    } else {
      ASSERT_EQ(table.withdraw(name), seen[at] == 1);
      if (seen[at] == 1) seen[at] = 2;
      static_cast<void>(table.compact());
    }
  }
  for (std::uint32_t at = 0; at < objects.size(); ++at) {
    const std::uint32_t name = at % 2 == 0 ? at : at * 77'777;
    ASSERT_EQ(static_cast<int>(table.state(name)), seen[at]) << name;
    ASSERT_EQ(table.find(name), seen[at] == 1 ? &objects[at] : nullptr) << name;
  }
}

TEST(id_table, finds_what_is_there_while_others_insert_and_withdraw) {
  id_table<> table(1);
  std::vector<std::uint64_t> objects(2000, 42);
  weft::test::published<std::uint32_t> inserted;
  weft::test::flag failed;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (std::uint32_t i = 0; i < 2000; ++i) {
      if (!table.insert(i * 17, &objects[i])) failed.raise();
      if (i % 5 == 0 && !table.withdraw(i * 17)) failed.raise();
      inserted.publish(i + 1);
    }
  });
  for (int reader = 0; reader < 3; ++reader) {
    threads.emplace_back([&] {
      for (std::uint32_t known = 0; known < 2000;) {
        known = inserted.value();
        for (std::uint32_t i = known > 50 ? known - 50 : 0; i < known; ++i) {
          void* expected = i % 5 == 0 ? nullptr : &objects[i];
          if (table.find(i * 17) != expected) failed.raise();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failed.is_raised());
}

}  // namespace
