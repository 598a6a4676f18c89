// SPDX-License-Identifier: BSD-3-Clause
// Operations under way: a ticket names one of them and no other, now or later.
// stages: release general asan
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "core/operation/operations.hpp"

namespace weft::core {
namespace {

// A set of operations of its own, of a set count or one that grows within so many bytes.
struct owned_pool {
  owned_pool(operation_set set, std::uint32_t count) : owned_pool{set, {count, count}, ~std::uint64_t{0}} {}
  owned_pool(operation_set set, const pool_bounds& bounds, std::uint64_t bytes_max)
      : budget{bytes_max}, operations{set, bounds, budget} {}
  operation_pool* operator->() noexcept { return &operations; }

  state_budget budget;
  operation_pool operations;
};

TEST(operation_pool, gives_out_as_many_as_it_has_and_each_once) {
  owned_pool pool{operation_set::arrivals, 5};
  std::set<operation_state*> given;
  for (std::uint32_t i = 0; i < pool->count(); ++i) {
    operation_state* operation = pool->try_get();
    ASSERT_NE(operation, nullptr);
    EXPECT_TRUE(given.insert(operation).second);
  }
  EXPECT_EQ(pool->try_get(), nullptr);
  pool->put(**given.begin());
  EXPECT_EQ(pool->try_get(), *given.begin());
  EXPECT_EQ(pool->try_get(), nullptr);
}

// What the end of a runtime asserts. An operation under way is none that is lost.
TEST(operation_pool, knows_of_an_operation_that_is_lost_or_free_twice) {
  for (const int fault : {0, 1, 2, 3}) {
    owned_pool pool{operation_set::posts, 5};
    std::array<operation_state*, 3> own{};
    ASSERT_EQ(pool->take_many(own.data(), 3), 3U);
    operation_state* const pending = pool->try_get();
    if (fault == 3) pending->ticket.store(0, std::memory_order_relaxed);  // [own] a test of one thread
    pool->put_many(own.data(), fault == 1 ? 2 : 3);
    if (fault == 2) pool->put_many(own.data() + 1, 1);
    EXPECT_EQ(pool->is_consistent(), fault == 0) << fault;
  }
}

TEST(operation_pool, never_gives_out_the_same_ticket_again) {
  owned_pool pool{operation_set::arrivals, 3};
  std::set<std::uint64_t> tickets{0};
  for (int i = 0; i < 1000; ++i) {
    operation_state* operation = pool->try_get();
    EXPECT_TRUE(
        tickets.insert(operation->ticket.load(std::memory_order_relaxed)).second);  // [own] a test of one thread
    pool->put(*operation);
  }
}

TEST(operation_pool, finds_an_operation_by_ticket_peer_and_step_only) {
  owned_pool pool{operation_set::arrivals, 4};
  operation_state* operation = pool->try_get();
  operation->peer = 7;
  operation->reach(step::wait_for_answer);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] a test of one thread
  EXPECT_EQ(pool->find(ticket, 7, step::wait_for_answer), operation);
  EXPECT_EQ(pool->find(ticket, 6, step::wait_for_answer), nullptr);
  EXPECT_EQ(pool->find(ticket, 7, step::wait_for_chunks), nullptr);
  for (const std::uint64_t wrong :
       {0UL, 1UL, ticket + 1, ticket ^ 1UL << 32, ticket ^ 1UL << 63, ticket | 0xffff'ffffUL, ticket + 4,
        ticket ^ 1UL << 28, ~0UL, ticket & 0xffff'ffffUL}) {
    EXPECT_EQ(pool->find(wrong, 7, step::wait_for_answer), nullptr) << wrong;
  }
}

TEST(operation_pool, does_not_find_an_operation_that_is_over_nor_the_next_one_in_its_place) {
  owned_pool pool{operation_set::arrivals, 1};
  operation_state* operation = pool->try_get();
  operation->peer = 7;
  operation->reach(step::wait_for_chunks);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] a test of one thread
  pool->put(*operation);
  EXPECT_EQ(pool->find(ticket, 7, step::wait_for_chunks), nullptr);
  EXPECT_EQ(pool->find(0, 7, step::free), nullptr);
  ASSERT_EQ(pool->try_get(), operation);
  operation->peer = 7;
  operation->reach(step::wait_for_chunks);
  EXPECT_EQ(pool->find(ticket, 7, step::wait_for_chunks), nullptr);
  EXPECT_EQ(operation->copying.moved.load(std::memory_order_relaxed), 0U);  // [own] a test of one thread
  EXPECT_EQ(operation->set(), operation_set::arrivals);
}

// Ten slabs fit: the last operation is refused, and nothing has moved.
TEST(operation_pool, grows_until_the_bytes_are_used_up_and_nothing_moves) {
  constexpr std::uint32_t slab = pool_elements_at_first;
  owned_pool pool{operation_set::receives, {slab, 100 * slab}, (10 * slab + slab / 2) * sizeof(operation_state)};
  EXPECT_EQ(pool->count(), slab);
  std::vector<std::pair<operation_state*, std::uint64_t>> given;
  for (operation_state* each = pool->try_get(); each != nullptr; each = pool->try_get()) {
    each->reach(step::wait_for_match);
    given.emplace_back(each, each->ticket.load(std::memory_order_relaxed));  // [own] a test of one thread
  }
  EXPECT_EQ(given.size(), 10 * slab);
  EXPECT_EQ(pool->count(), 10 * slab);
  std::size_t visited = 0;
  pool->each([&](const operation_state&) { ++visited; });
  EXPECT_EQ(visited, given.size());
  for (const auto& [operation, ticket] : given) EXPECT_EQ(pool->find(ticket, step::wait_for_match), operation);
  for (const auto& [operation, ticket] : given) pool->put(*operation);
  for (const auto& [operation, ticket] : given) EXPECT_EQ(pool->find(ticket, step::wait_for_match), nullptr);
  EXPECT_EQ(pool.budget.bytes(), 10 * slab * sizeof(operation_state));
  EXPECT_TRUE(pool->is_consistent());
}

// A peer may name any index, also of slabs that are not there, and beyond all of them.
TEST(operation_pool, does_not_find_what_is_not_there) {
  owned_pool pool{operation_set::posts, {256, 1000}, std::uint64_t{1} << 20};
  operation_state* const operation = pool->try_get();
  operation->reach(step::wait_for_answer);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] a test of one thread
  for (std::uint64_t index = 0; index < 1U << operation_set_shift; index += index < 2000 ? 1 : 997) {
    const std::uint64_t forged = ticket >> 32 << 32 | index;
    EXPECT_EQ(pool->find(forged, step::wait_for_answer), forged == ticket ? operation : nullptr);
    if (forged != ticket) {
      EXPECT_EQ(pool->claim(static_cast<std::uint32_t>(index), 0), nullptr);
    }
  }
}

TEST(operation_pool, of_a_set_count_has_all_from_the_beginning_and_no_more) {
  for (const std::uint32_t count : {1U, 255U, 256U, 257U, 1000U}) {
    owned_pool pool{operation_set::posts, count};
    EXPECT_EQ(pool->count(), count);
    EXPECT_EQ(pool.budget.bytes(), count * sizeof(operation_state));
    std::uint32_t given = 0;
    while (pool->try_get() != nullptr) ++given;
    EXPECT_EQ(given, count);
  }
}

TEST(operation_pool, takes_several_at_a_time_also_of_a_new_slab) {
  owned_pool pool{operation_set::receives, {0, 1024}, ~std::uint64_t{0}};
  std::array<operation_state*, 16> taken{};
  std::set<operation_state*> all;
  for (std::uint32_t count = 0; (count = pool->take_many(taken.data(), taken.size())) != 0;) {
    for (std::uint32_t i = 0; i < count; ++i) EXPECT_TRUE(all.insert(taken[i]).second);
  }
  EXPECT_EQ(all.size(), 1024U);
}

// Each pool may have all bytes, and together they have no more.
TEST(operation_pool, shares_its_bytes_with_others) {
  constexpr std::uint32_t slab = pool_elements_at_first;
  state_budget budget{4 * slab * sizeof(operation_state)};
  operation_pool first{operation_set::posts, {slab, 10 * slab}, budget};
  operation_pool second{operation_set::receives, {slab, 10 * slab}, budget};
  std::uint32_t given = 0;
  while (first.try_get() != nullptr) ++given;
  EXPECT_EQ(given, 3 * slab);
  while (second.try_get() != nullptr) ++given;
  EXPECT_EQ(given, 4 * slab);
}

TEST(operations, are_visited_some_at_a_time_each_once_in_a_round) {
  state_budget budget{~std::uint64_t{0}};
  operations all{{10, 10}, {7, 7}, budget};
  std::set<operation_state*> used;
  for (int i = 0; i < 5; ++i) used.insert(all.posts().try_get());
  for (int i = 0; i < 7; ++i) used.insert(all.receives().try_get());
  used.insert(all.arrivals().try_get());
  operation_walk walk;
  for (int round = 0; round < 3; ++round) {
    std::multiset<operation_state*> visited;
    std::uint64_t left = all.count();
    while (left != 0) {
      const std::uint64_t most = std::min<std::uint64_t>(left, 4);
      std::uint64_t now = 0;
      all.each_some(walk, most, [&](operation_state& each) { visited.insert(&each), ++now; });
      EXPECT_LE(now, most);
      left -= most;
    }
    EXPECT_EQ(visited, std::multiset<operation_state*>(used.begin(), used.end())) << round;
  }
  std::multiset<operation_state*> visited;
  all.each_some(walk, 1000, [&](operation_state& each) { visited.insert(&each); });
  EXPECT_EQ(visited.size(), used.size()) << "more than there are: each once";
  for (operation_state* each : used) all.put(*each);
}

}  // namespace
}  // namespace weft::core
