// SPDX-License-Identifier: BSD-3-Clause
// Messages that it takes to make a group, and the memory of many groups.
#include <gtest/gtest.h>
#include <malloc.h>

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/sanitizer.hpp"
#include "support/random_seed.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr bool counts_memory = !base::under_sanitizer;  // their allocators are others

std::size_t allocated() {
  if (!counts_memory) return 0;
  const auto all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

std::uint64_t rounds(std::uint32_t size) { return static_cast<std::uint64_t>(std::bit_width(size - 1)); }

// As docs/collectives.md has them.
TEST(group_costs, in_messages_are_those_of_the_page) {
  for (const std::uint32_t size : {1U, 2U, 3U, 4U, 5U, 8U, 9U}) {
    const std::uint64_t allgather = size * rounds(size), broadcast = size - 1, barrier = size * rounds(size);
    std::vector<std::vector<std::uint64_t>> counted(size);
    const runtime_options usual{.coll = "barrier:dissemination,broadcast:binomial,allgather:bruck", .check = false};
    test::local_job{size, usual}.run([&](runtime& rt) {
      group all = rt.world();
      std::vector<std::uint32_t> everybody(size);
      for (std::uint32_t i = 0; i < size; ++i) everybody[i] = i;
      std::vector<group> made;
      const auto count = [&](auto&& make) {
        const std::uint64_t before = rt.default_device().counters().posts.sends.operations;
        made.push_back(make());
        counted[rt.rank()].push_back(rt.default_device().counters().posts.sends.operations - before);
      };
      count([&] { return all.split(0); });
      count([&] { return all.by_node(); });
      count([&] { return all.dup(); });
      count([&] { return all.include(everybody); });
      count([&] { return make_group(rt, everybody); });
      made.clear();  // an end sends nothing
      counted[rt.rank()].push_back(rt.default_device().counters().posts.sends.operations);
      rt.barrier();
    });
    const std::vector<std::uint64_t> expected{2 * allgather, allgather, broadcast, broadcast + barrier,
                                              broadcast + barrier};
    std::uint64_t whole = 0, ended = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      std::uint64_t sum = 0;
      for (const auto& each : counted) sum += each[i];
      EXPECT_EQ(sum, expected[i]) << "way " << i << " to make a group of " << size;
      whole += sum;
    }
    for (const auto& each : counted) ended += each.back();
    EXPECT_EQ(ended, whole) << size;
  }
}

TEST(group_costs, of_ten_thousand_groups_of_eight_are_below_a_kibibyte_each) {
  constexpr std::uint32_t size = 8;
  constexpr std::size_t many = weft::test::under_sanitizer ? 30 : 10'000;
  std::vector<std::size_t> bytes(2);
  test::local_job{size, {.check = false}}.run([&](runtime& rt) {
    group all = rt.world();
    std::vector<group> made;
    made.reserve(many);
    const auto measure = [&](std::size_t index, auto&& do_all) {
      rt.barrier();
      const std::size_t before = allocated();
      rt.barrier();
      do_all();
      rt.barrier();
      if (rt.rank() == 0) bytes[index] = (allocated() - before) / many / size;
      rt.barrier();
    };
    collective::barrier().run(all);
    measure(0, [&] {
      for (std::size_t i = 0; i < many; ++i) made.push_back(all.dup());
    });
    measure(1, [&] {
      for (group& each : made) collective::barrier().run(each);
    });
  });
  RecordProperty("bytes_when_made", std::to_string(bytes[0]));
  RecordProperty("bytes_more_after_a_barrier", std::to_string(bytes[1]));
  if (!counts_memory) return;
  EXPECT_GT(bytes[0], 64U) << "this is not what counts them";
  EXPECT_LE(bytes[0], 1024U);
  EXPECT_LE(bytes[0] + bytes[1], 1024U);
}

TEST(group_costs, of_groups_that_have_ended_are_none) {
  constexpr std::size_t many = weft::test::under_sanitizer ? 2'000 : 100'000;
  test::local_job{2, {.check = false}}.run([&](runtime& rt) {
    group all = rt.world();
    const auto make_some = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        group each = all.dup();
        if (i % 16 == 0) collective::barrier().run(each);
        if (i % 64 == 0) static_cast<void>(each.split(rt.rank()));
      }
      rt.barrier();
    };
    make_some(2'000);
    const std::size_t before = allocated();
    rt.barrier();
    make_some(many);
    if (!counts_memory) return;
    const std::size_t after = allocated();
    EXPECT_LE(after, before + (std::size_t{64} << 10));
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
