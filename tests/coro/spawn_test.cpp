// SPDX-License-Identifier: BSD-3-Clause
// What a run loop keeps for the tasks that it spawns.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "support/waiting.hpp"
#include "weft/await.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// The lambda is gone when the loop first runs; what it captured is not.
TEST(run_loop_spawn, keeps_the_callable_and_the_arguments_that_it_spawns) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    std::vector<std::string> seen;
    for (int i = 0; i < 3; ++i) {
      loop.spawn(
          [&seen, text = std::string(100, static_cast<char>('a' + i)), &loop](const std::string& more) -> task<> {
            co_await loop.schedule();
            seen.push_back(text + more);
          },
          std::string(50, 'z'));
    }
    EXPECT_EQ(loop.spawned(), 3U);
    EXPECT_TRUE(loop.run({.timeout = test::patience}));
    ASSERT_EQ(seen.size(), 3U);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(seen[i], std::string(100, static_cast<char>('a' + i)) + std::string(50, 'z'));
    loop.spawn([]() -> task<> {
      throw std::runtime_error{"of a callable"};
      co_return;
    });
    EXPECT_THROW(loop.run({.timeout = test::patience}), std::runtime_error);
  });
}

}  // namespace
}  // namespace weft
