// SPDX-License-Identifier: BSD-3-Clause
// Short collectives without a graph give what they are to give, by the bodies for ranks with cores of their own and by
// those for ranks that share cores, whatever this machine has.
#include "coll/run/short_collective.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coll/group/group_store.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft::coll {
namespace {

class short_collectives : public testing::TestWithParam<bool> {
 protected:
  // What a member knows of a collective of `bytes` bytes.
  static collective_args args_of(const group_state& in, operation kind, std::uint64_t bytes = 0) {
    return {.operation = kind,
            .rank = in.rank(),
            .size = in.size(),
            .block_bytes = bytes,
            .element_bytes = bytes == 0 ? 1 : bytes,
            .is_commutative = false,
            .is_oversubscribed = GetParam()};
  }
};

// Joins two numbers' digits, which depends on the order.
struct digits {
  std::uint64_t value, power;

  static void join(const void* in, void* inout, std::size_t count, void* /*context*/) {
    const auto* const lower = static_cast<const digits*>(in);
    auto* const higher = static_cast<digits*>(inout);
    for (std::size_t i = 0; i < count; ++i) {
      higher[i].value += lower[i].value * higher[i].power;
      higher[i].power *= lower[i].power;
    }
  }
};

// Adds, and counts arrays that are not aligned for their elements.
void add_aligned(const void* in, void* inout, std::size_t count, void* misaligned) {
  for (const void* const each : {in, static_cast<const void*>(inout)}) {
    if (reinterpret_cast<std::uintptr_t>(each) % alignof(long double) != 0)
      static_cast<std::atomic<int>*>(misaligned)->fetch_add(1, std::memory_order_relaxed);  // [stat]
  }
  for (std::size_t i = 0; i < count * sizeof(long double); i += sizeof(long double)) {
    long double a = 0, b = 0;
    std::memcpy(&a, static_cast<const std::byte*>(in) + i, sizeof a);
    std::memcpy(&b, static_cast<std::byte*>(inout) + i, sizeof b);
    b += a;
    std::memcpy(static_cast<std::byte*>(inout) + i, &b, sizeof b);
  }
}

TEST_P(short_collectives, combine_elements_in_memory_that_is_aligned_for_any) {
  std::atomic<int> misaligned{0};
  for (std::uint32_t ranks = 2; ranks <= 6; ++ranks) {
    test::local_job{ranks}.run([&](runtime& rt) {
      group_state& world = *group_store::instance(rt).world();
      const reduction add{.combine = &add_aligned, .context = &misaligned, .element_bytes = sizeof(long double)};
      long double number = rt.rank() + 1;
      short_collective::run(world, args_of(world, operation::allreduce, sizeof number), {&number, sizeof number},
                            {&number, sizeof number}, add);
      EXPECT_EQ(number, rt.size() * (rt.size() + 1) / 2);
    });
  }
  // [stat] The ranks have ended.
  EXPECT_EQ(misaligned.load(std::memory_order_relaxed), 0);
}

TEST_P(short_collectives, give_each_member_the_roots_bytes_and_the_result_in_order) {
  for (std::uint32_t ranks = 1; ranks <= 9; ++ranks) {
    test::local_job{ranks}.run([](runtime& rt) {
      group_state& world = *group_store::instance(rt).world();
      const reduction join{.combine = &digits::join, .element_bytes = sizeof(digits), .is_commutative = false};
      std::uint64_t whole = 0;
      for (std::uint32_t member = 0; member < rt.size(); ++member) whole = 10 * whole + member + 1;
      for (std::uint32_t round = 0; round < 3; ++round) {
        for (std::uint32_t root = 0; root < rt.size(); ++root) {
          collective_args of = args_of(world, operation::broadcast, 8);
          of.root = root;
          std::uint64_t word = rt.rank() == root ? 100 * round + root : ~std::uint64_t{0};
          short_collective::run(world, of, {&word, sizeof word}, {&word, sizeof word}, {});
          EXPECT_EQ(word, 100 * round + root) << rt.size() << " ranks";
        }
        collective_args of = args_of(world, operation::allreduce, sizeof(digits));
        const digits mine{rt.rank() + 1, 10};
        digits all{};
        short_collective::run(world, of, {&mine, sizeof mine}, {&all, sizeof all}, join);
        EXPECT_EQ(all.value, whole) << rt.size() << " ranks";
        of.is_inplace = true;
        all = mine;
        short_collective::run(world, of, {}, {&all, sizeof all}, join);
        EXPECT_EQ(all.value, whole) << rt.size() << " ranks, in place";
      }
    });
  }
}

TEST_P(short_collectives, end_no_barrier_before_all_members_have_begun_it) {
  for (std::uint32_t ranks = 1; ranks <= 9; ++ranks) {
    std::array<std::atomic<std::uint32_t>, 20> begun{};
    test::local_job{ranks}.run([&](runtime& rt) {
      group_state& world = *group_store::instance(rt).world();
      for (std::atomic<std::uint32_t>& each : begun) {
        // relaxed: the barrier orders it before the load.
        each.fetch_add(1, std::memory_order_relaxed);
        short_collective::run(world, args_of(world, operation::barrier), {}, {}, {});
        // relaxed: the barrier orders it behind all additions.
        EXPECT_EQ(each.load(std::memory_order_relaxed), rt.size());
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(each, short_collectives, testing::Bool(),
                         [](const auto& of) { return of.param ? "oversubscribed" : "apart"; });

}  // namespace
}  // namespace weft::coll
