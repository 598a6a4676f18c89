// SPDX-License-Identifier: BSD-3-Clause
// Messages between weft-run and its guardian when one of them ends.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "weft-run/messages.hpp"

namespace weft::run {
namespace {

TEST(messages, of_a_guardian_that_has_ended_are_received_though_it_left_an_order_unread) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  ASSERT_TRUE(send_message(ends[0], order{SIGCONT, 0}));
  ASSERT_TRUE(send_message(ends[1], event{event::kind::ended, 3, 9}));
  ASSERT_TRUE(send_message(ends[1], event{event::kind::all_gone, 0, 0}));
  ::close(ends[1]);
  event news{};
  ASSERT_EQ(receive_message(ends[0], news), received::message);
  EXPECT_EQ(news.rank, 3U);
  ASSERT_EQ(receive_message(ends[0], news), received::message);
  EXPECT_EQ(news.happened, event::kind::all_gone);
  EXPECT_EQ(receive_message(ends[0], news), received::hang_up);
  EXPECT_EQ(receive_message(ends[0], news), received::hang_up);
  ::close(ends[0]);
}

}  // namespace
}  // namespace weft::run
