// SPDX-License-Identifier: BSD-3-Clause
// The sending side of a ring: what it does for a message that doesn't go.
// stages: release asan
#include <gtest/gtest.h>

#include <memory>

#include "net/ring/route.hpp"

namespace weft::net {
namespace {

constexpr std::uint32_t cells = 4;

struct ring {
  ring_control control{};
  cell all[cells]{};
};

class route_to_a_device : public testing::TestWithParam<bool> {
 protected:
  // How often the last of `count` messages was announced, and the answer.
  post_result push(unsigned& announced) {
    announced = 0;
    const std::uint64_t word = 7;
    return route_.push(GetParam(), {}, &word, sizeof word, false, [&] {
      ++announced;
      return true;
    });
  }

  const std::unique_ptr<ring> ring_ = std::make_unique<ring>();
  sleep_word receiver_{};
  outgoing route_{ring_->control, cells, receiver_};
};

// A packet that is lent to a peer before it is certain to go can be returned by a wild one while it is still here.
TEST_P(route_to_a_device, announces_no_message_that_does_not_go) {
  unsigned announced = 0;
  for (std::uint32_t i = 0; i < cells; ++i) {
    EXPECT_EQ(push(announced), post_result::ok);
    EXPECT_EQ(announced, 1U);
  }
  EXPECT_EQ(push(announced), post_result::full);
  EXPECT_EQ(announced, 0U);
  if (!GetParam()) return;
  ASSERT_TRUE(route_.sending.try_enter());
  EXPECT_EQ(push(announced), post_result::busy);
  EXPECT_EQ(announced, 0U);
  route_.sending.leave();
}

INSTANTIATE_TEST_SUITE_P(of_a_device, route_to_a_device, testing::Bool(),
                         [](const auto& each) { return each.param ? "that_is_shared" : "of_one_thread"; });

}  // namespace
}  // namespace weft::net
