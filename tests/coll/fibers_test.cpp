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

}  // namespace
}  // namespace weft
