// Operations under way: a ticket names one of them and no other, now or later.
// stages: release general asan
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "core/operation/pool.hpp"

namespace weft::core {
namespace {

TEST(operation_pool, gives_out_as_many_as_it_has_and_each_once) {
  operation_pool pool{operation_set::arrivals, 5};
  std::set<operation_state*> given;
  for (std::uint32_t i = 0; i < pool.count(); ++i) {
    operation_state* operation = pool.try_get();
    ASSERT_NE(operation, nullptr);
    EXPECT_TRUE(given.insert(operation).second);
  }
  EXPECT_EQ(pool.try_get(), nullptr);
  pool.put(**given.begin());
  EXPECT_EQ(pool.try_get(), *given.begin());
  EXPECT_EQ(pool.try_get(), nullptr);
}

// What the end of a runtime asserts. An operation under way is none that is lost.
TEST(operation_pool, knows_of_an_operation_that_is_lost_or_free_twice) {
  for (const int fault : {0, 1, 2, 3}) {
    operation_pool pool{operation_set::posts, 5};
    std::array<std::uint32_t, 3> own{};
    ASSERT_EQ(pool.take_many(own.data(), 3), 3U);
    operation_state* const pending = pool.try_get();
    if (fault == 3) pending->ticket.store(0, std::memory_order_relaxed);  // [own] a test of one thread
    pool.put_many(own.data(), fault == 1 ? 2 : 3);
    if (fault == 2) pool.put_many(own.data() + 1, 1);
    EXPECT_EQ(pool.is_consistent(), fault == 0) << fault;
  }
}

TEST(operation_pool, never_gives_out_the_same_ticket_again) {
  operation_pool pool{operation_set::arrivals, 3};
  std::set<std::uint64_t> tickets{0};
  for (int i = 0; i < 1000; ++i) {
    operation_state* operation = pool.try_get();
    EXPECT_TRUE(
        tickets.insert(operation->ticket.load(std::memory_order_relaxed)).second);  // [own] a test of one thread
    pool.put(*operation);
  }
}

TEST(operation_pool, finds_an_operation_by_ticket_peer_and_step_only) {
  operation_pool pool{operation_set::arrivals, 4};
  operation_state* operation = pool.try_get();
  operation->peer = 7;
  operation->reach(step::wait_for_answer);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] a test of one thread
  EXPECT_EQ(pool.find(ticket, 7, step::wait_for_answer), operation);
  EXPECT_EQ(pool.find(ticket, 6, step::wait_for_answer), nullptr);
  EXPECT_EQ(pool.find(ticket, 7, step::wait_for_chunks), nullptr);
  for (const std::uint64_t wrong :
       {0UL, 1UL, ticket + 1, ticket ^ 1UL << 32, ticket ^ 1UL << 63, ticket | 0xffff'ffffUL, ticket + 4,
        ticket ^ 1UL << 28, ~0UL, ticket & 0xffff'ffffUL}) {
    EXPECT_EQ(pool.find(wrong, 7, step::wait_for_answer), nullptr) << wrong;
  }
}

TEST(operation_pool, does_not_find_an_operation_that_is_over_nor_the_next_one_in_its_place) {
  operation_pool pool{operation_set::arrivals, 1};
  operation_state* operation = pool.try_get();
  operation->peer = 7;
  operation->reach(step::wait_for_chunks);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] a test of one thread
  pool.put(*operation);
  EXPECT_EQ(pool.find(ticket, 7, step::wait_for_chunks), nullptr);
  EXPECT_EQ(pool.find(0, 7, step::free), nullptr);
  ASSERT_EQ(pool.try_get(), operation);
  operation->peer = 7;
  operation->reach(step::wait_for_chunks);
  EXPECT_EQ(pool.find(ticket, 7, step::wait_for_chunks), nullptr);
  EXPECT_EQ(operation->copying.moved.load(std::memory_order_relaxed), 0U);  // [own] a test of one thread
  EXPECT_EQ(operation->set(), operation_set::arrivals);
}

}  // namespace
}  // namespace weft::core
