// SPDX-License-Identifier: BSD-3-Clause
// A member that abandons its collectives: they end, although the others never begin theirs.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(abandoned_collectives, end_with_the_error_cancelled) {
  constexpr std::size_t count = 100'000;  // long: a send waits for its receiver
  test::local_job{3}.run([](runtime& rt) {
    rt.world().abandon();  // there is none
    if (rt.rank() == 0) {
      std::vector<std::uint64_t> sent(count, 1), sum(count);
      std::vector<std::unique_ptr<synchronizer>> ends;
      const auto post = [&](group& in, const collective& which) {
        ends.push_back(std::make_unique<synchronizer>(rt));
        static_cast<void>(which.post(in, *ends.back()));
      };
      group all = rt.world();
      for (int i = 0; i < 5; ++i) {
        post(all, collective::barrier());
        post(all, collective::broadcast(sent, 0));
        post(all, collective::allreduce(sent, sum));
      }
      all.abandon();
      for (const auto& each : ends) {
        ASSERT_TRUE(rt.default_device().wait(*each, {.timeout = std::chrono::minutes{1}}));
        EXPECT_EQ(each->take()->error(), errc::cancelled);
      }
      all.abandon();  // there is none any more
    }
    rt.barrier();  // with progress, by which the others give messages back
  });
}

TEST(abandoned_collectives, are_none_of_those_that_are_kept) {
  test::local_job{2}.run([](runtime& rt) {
    std::uint64_t mine = rt.rank() + 1, sum = 0;
    group all = rt.world();
    persistent_collective kept = collective::allreduce(std::span{&mine, 1}, std::span{&sum, 1}).keep(all);
    synchronizer end{rt};
    static_cast<void>(kept.start(end));
    all.abandon();
    rt.default_device().wait(end);
    EXPECT_EQ(end.take()->error(), errc::none);
    EXPECT_EQ(sum, 3U);
  });
}

}  // namespace
}  // namespace weft
