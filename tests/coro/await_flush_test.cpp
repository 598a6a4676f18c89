// SPDX-License-Identifier: BSD-3-Clause
// Coroutines that await flushes and barriers.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "support/waiting.hpp"
#include "weft/await.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// Two coroutines of each rank: one flushes what the other one has put, then all ranks meet.
TEST(run_loop, awaits_flushes_and_barriers) {
  for (const std::uint32_t ranks : {1U, 2U, 5U}) {
    std::vector<remote_region> regions(ranks);
    test::local_job{ranks}.run([&](runtime& rt) {
      run_loop loop{rt.default_device()};
      std::vector<std::uint64_t> mine(rt.size());
      const memory_region words{rt, std::as_writable_bytes(std::span{mine})};
      regions[rt.rank()] = words.handle();
      std::vector<std::uint64_t> values(rt.size());
      int ended = 0;
      const auto pass = [&]() -> task<> {
        for (std::uint64_t round = 1; round <= 20; ++round) {
          co_await loop.barrier();
          for (std::uint32_t to = 0; to < rt.size(); ++to) {
            values[to] = round * 100 + rt.rank();
            const completion_record put = co_await loop.post_put(to, std::as_bytes(std::span{&values[to], 1}),
                                                                 {regions[to], 8 * std::uint64_t{rt.rank()}});
            EXPECT_EQ(put.error(), errc::none);
            if (round % 2 == 0) co_await loop.flush(to);
          }
          co_await loop.flush();
          co_await loop.barrier();
          for (std::uint32_t from = 0; from < rt.size(); ++from) EXPECT_EQ(mine[from], round * 100 + from);
        }
        ++ended;
      };
      const auto computes = [&]() -> task<> {
        while (ended == 0) co_await loop.schedule();
        ++ended;
      };
      rt.barrier();
      loop.spawn(pass());
      if (rt.rank() % 2 == 0) loop.spawn(computes());
      EXPECT_TRUE(loop.run({.timeout = test::patience}));
      rt.barrier();  // the other way to the same
    });
  }
}

TEST(run_loop, refuses_barriers_of_other_devices_and_flushes_of_no_rank) {
  test::local_job{1}.run([](runtime& rt) {
    device other{rt};
    run_loop loop{other};
    EXPECT_THROW(static_cast<void>(loop.barrier()), error);
    EXPECT_THROW(static_cast<void>(loop.flush(1)), error);
    const auto flush = [&]() -> task<> { co_await loop.flush(0); };
    loop.run(flush());
  });
}

}  // namespace
}  // namespace weft
