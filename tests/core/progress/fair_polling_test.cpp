// SPDX-License-Identifier: BSD-3-Clause
// A peer that is never quiet does not hide another one.
#include <gtest/gtest.h>

#include <barrier>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(fair_polling, finds_a_new_sender_while_a_known_one_keeps_sending) {
  std::barrier step{2};
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    counter busy{rt}, rare{rt}, sent{rt};
    const registration often = rt.register_completion(busy, {.id = 1});
    const registration once = rt.register_completion(rare, {.id = 2});
    rt.barrier();
    const auto say = [&](device& through, std::uint32_t id) {
      EXPECT_TRUE(test::eventually(
          through, [&] { return !through.post_am(0, {id}, const_buffer_ref{}, sent, {.device = 0}).is_retry(); }));
    };
    if (rt.rank() == 1) say(dev, 1);
    if (rt.rank() == 0) {
      EXPECT_TRUE(test::eventually(dev, [&] { return busy.value() == 1; }));
    }
    step.arrive_and_wait();
    std::optional<device> second;
    if (rt.rank() == 1) say(second.emplace(rt), 2);
    for (int round = 0; round < 300; ++round) {
      if (rt.rank() == 1) say(dev, 1);
      step.arrive_and_wait();
      if (rt.rank() == 0) dev.progress();
      step.arrive_and_wait();
    }
    if (rt.rank() == 0) {
      EXPECT_EQ(rare.value(), 1U) << "after " << busy.value() << " messages of the other one";
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
