// SPDX-License-Identifier: BSD-3-Clause
// Devices whose rings have another depth than the runtime's.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstdint>
#include <set>
#include <span>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// How many posts are taken while no rank polls. A simulated network refuses some though there is room.
std::uint32_t accepted(device& from, std::uint32_t peer, counter& sent, std::uint32_t most) {
  std::uint32_t taken = 0;
  const std::uint64_t word = 0;
  const auto bytes = std::as_bytes(std::span{&word, 1});
  for (std::uint32_t tries = 0; tries < 40 * most; ++tries) {
    taken += from.post_am(peer, {1}, bytes, sent, {.tag = taken}).is_done();
  }
  return taken;
}

class ring_depth : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(transports, ring_depth, testing::Values("self,shm", "sim:self,sim:shm"),
                         [](const auto& of) { return of.index == 0 ? "rings" : "simulated"; });

TEST_P(ring_depth, bounds_messages_under_way_and_all_arrive) {
  std::barrier<> together{2};  // in which no rank makes progress
  std::array<std::uint32_t, 2> taken{};
  test::local_job{2, {.ring_cells = 64, .transport = GetParam()}}.run([&](runtime& rt) {
    std::set<std::uint64_t> tags;
    handler inbox{rt, [&](const completion_record& each) { EXPECT_TRUE(tags.insert(each.tag()).second); }};
    const registration mail = rt.register_completion(inbox, {.id = 1});
    counter sent{rt};
    for (const std::uint32_t cells : {8U, 32U, 64U}) {
      device dev{rt, {.ring_cells = cells}};
      rt.barrier();
      for (const std::uint32_t distance : {0U, 1U}) {
        for (int round = 0; round < 5; ++round) {
          together.arrive_and_wait();
          taken[rt.rank()] = accepted(dev, (rt.rank() + distance) % 2, sent, 64);
          EXPECT_LE(taken[rt.rank()], cells);
          // A receiver returns credit after each quarter.
          EXPECT_GE(taken[rt.rank()], round == 0 ? cells : cells * 3 / 4);
          together.arrive_and_wait();
          const std::uint32_t expected = taken[(rt.rank() + distance) % 2];
          EXPECT_TRUE(test::eventually(dev, [&] { return tags.size() == expected; }));
          tags.clear();
        }
      }
      rt.barrier();
    }
  });
}

TEST_P(ring_depth, is_that_of_the_index_so_a_new_device_takes_a_fitting_one) {
  test::local_job{1, {.ring_cells = 64, .devices_max = 4, .transport = GetParam()}}.run([](runtime& rt) {
    counter inbox{rt}, sent{rt};
    const registration mail = rt.register_completion(inbox, {.id = 1});
    std::uint64_t expected = 0;
    const auto expect_cells = [&](device& dev, std::uint32_t cells) {
      EXPECT_EQ(accepted(dev, 0, sent, 64), cells);
      expected += cells;
      EXPECT_TRUE(test::eventually(dev, [&] { return inbox.value() == expected; }));
    };
    std::uint32_t index = 0;
    {
      device small{rt, {.ring_cells = 8}};
      index = small.index();
      expect_cells(small, 8);
    }
    {
      device usual{rt};
      EXPECT_NE(usual.index(), index);
      expect_cells(usual, 64);
      device small{rt, {.ring_cells = 8}};
      EXPECT_EQ(small.index(), index);
      expect_cells(small, 8);
    }
    // No index is left whose rings are as deep, or have never been used.
    device first{rt}, second{rt};
    EXPECT_NE(first.index(), index);
    EXPECT_NE(second.index(), index);
    device third{rt};
    EXPECT_EQ(third.index(), index);
    expect_cells(third, 8);
  });
}

TEST_P(ring_depth, may_be_the_default_devices_own) {
  test::local_job{1, {.default_device = {.ring_cells = 16}, .transport = GetParam()}}.run([](runtime& rt) {
    counter inbox{rt}, sent{rt};
    const registration mail = rt.register_completion(inbox, {.id = 1});
    EXPECT_EQ(accepted(rt.default_device(), 0, sent, 64), 16U);
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return inbox.value() == 16; }));
  });
}

}  // namespace
}  // namespace weft
