// SPDX-License-Identifier: BSD-3-Clause
// Collectives of fibers: one that waits in a collective is suspended, and the other fibers of its worker run meanwhile.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(collectives_of_fibers, suspend_them) {
  test::local_job{3}.run([](runtime& rt) {
    device& dev = rt.default_device();
    device* const served[] = {&dev};
    group all = rt.world();
    constexpr std::uint32_t fibers_count = 4;
    // Each rank begins with another fiber: a worker that waited in the collective of its first fiber would never begin
    // those for which the other ranks wait.
    std::vector<group> groups;
    for (std::uint32_t i = 0; i < fibers_count; ++i) groups.push_back(all.dup());
    std::vector<std::uint64_t> sums(fibers_count);
    {
      fiber_scheduler fibers{{.workers = 1, .devices = served}};
      std::vector<fiber> running;
      for (std::uint32_t k = 0; k < fibers_count; ++k) {
        const std::uint32_t i = (k + rt.rank()) % fibers_count;
        running.push_back(fibers.spawn([&, i] {
          for (std::uint64_t round = 0; round < 20; ++round) {
            const std::uint64_t mine = rt.rank() + i + round;
            std::uint64_t sum = 0;
            collective::allreduce(std::span{&mine, 1}, std::span{&sum, 1}).run(groups[i]);
            EXPECT_EQ(sum, 3 * (i + round) + 3);
            std::vector<std::uint64_t> many(2000, mine), all_sums(2000);
            collective::allreduce(many, all_sums).run(groups[i]);
            EXPECT_EQ(all_sums.back(), sum);
            collective::barrier().run(groups[i]);
            persistent_collective again = collective::broadcast(all_sums, 1).keep(groups[i]);
            again.run();
            sums[i] += sum;
          }
        }));
      }
      for (fiber& each : running) each.join();
    }
    for (std::uint32_t i = 0; i < fibers_count; ++i) EXPECT_EQ(sums[i], 20 * (3 * i + 3) + 3 * 190);
    collective::barrier().run(all);
  });
}

// Rank 0 waits in two short broadcasts of one group, each in a fiber of its own, and the message of the second one is
// first: rank 1 begins only once rank 0 has it.
TEST(collectives_of_fibers, wait_for_their_own_messages) {
  for (const bool is_oversubscribed : {false, true}) {
    test::local_job{3}.run([&](runtime& rt) {
      test::local_job::assume_beyond_processors(rt, is_oversubscribed);
      device* const served[] = {&rt.default_device()};
      group all = rt.world().dup();
      group gate = rt.world().dup();
      std::uint64_t opened = rt.rank();
      if (rt.rank() == 1) collective::broadcast({&opened, sizeof opened}).run(gate);
      std::uint64_t from_1 = rt.rank() * 10, from_2 = rt.rank() * 10;
      {
        fiber_scheduler fibers{{.workers = 1, .devices = served}};
        bool has_first_begun = false;
        fiber first = fibers.spawn([&] {
          has_first_begun = true;
          collective::broadcast({&from_1, sizeof from_1}, 1).run(all);
          EXPECT_EQ(from_1, 10U);
        });
        fiber second = fibers.spawn([&] {
          while (!has_first_begun) this_fiber::yield();
          collective::broadcast({&from_2, sizeof from_2}, 2).run(all);
          EXPECT_EQ(from_2, 20U);
          if (rt.rank() == 0) collective::broadcast({&opened, sizeof opened}).run(gate);
        });
        first.join();
        second.join();
      }
      if (rt.rank() == 2) collective::broadcast({&opened, sizeof opened}).run(gate);
      EXPECT_EQ(opened, 0U);
    });
  }
}

}  // namespace
}  // namespace weft
