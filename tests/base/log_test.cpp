// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace {

using namespace weft::base;

TEST(log, the_rank_stands_in_front_once_it_is_known) {
  testing::internal::CaptureStderr();
  log_error("before {}", 1);
  set_log_identity(2, 4);
  log_error("after {}", 2);
  set_log_identity(0, 1);
  log_warn("alone");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "weft: error: before 1\nweft 2/4: error: after 2\nweft: warning: alone\n");
}

TEST(log, a_line_longer_than_the_stack_buffer_is_whole) {
  const std::string text(5000, 'x');
  testing::internal::CaptureStderr();
  log_error("{}", text);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft: error: " + text + "\n");
}

TEST(log, what_is_said_once_is_said_by_one_of_many_threads) {
  said_once said;
  testing::internal::CaptureStderr();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 100; ++n) log_once(said, log_level::error, "only this");
      });
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft: error: only this\n");
}

}  // namespace
