// SPDX-License-Identifier: BSD-3-Clause
// A fiber waits for the close of a batch of operations.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "support/own_messages.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(fiber_batches, fibers_wait_for_the_end_of_their_batches) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device blocking{dev};
    const auto work = [&](std::uint64_t first) {
      test::own_messages all{4};
      batch posts{rt};
      all.post(dev, posts, first);
      for (std::size_t i = 0; i < 4; ++i) all.send(dev, i, i + first, first);
      blocking.close(posts);
      EXPECT_EQ(all.words()[3], 3 + first);
      EXPECT_EQ(posts.failed(), 0U);
    };
    std::array<device*, 1> devices{&dev};
    fiber_scheduler fibers{{.workers = 2, .devices = devices}};
    std::vector<fiber> all;
    for (std::uint64_t i = 1; i <= 8; ++i) all.push_back(fibers.spawn([&work, i] { work(100 * i); }));
    for (fiber& each : all) each.join();
  });
}

}  // namespace
}  // namespace weft
