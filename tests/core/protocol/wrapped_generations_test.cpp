// SPDX-License-Identifier: BSD-3-Clause
// Sends that are cancelled after an operation has been used 2^32 times, and its tickets' generations begin at 0 again.
// stages: release general asan
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "core/protocol/step_bench.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using core::step;
using core::wire;
using test::step_bench;

TEST(wrapped_generations, of_sends_leave_no_request_that_a_later_use_takes_for_its_own) {
  step_bench::run([](step_bench& bench) {
    device& dev = bench.dev();
    completion_queue ends{bench.rt()};
    const std::vector<std::byte> bytes(50'000);
    const auto post = [&](bool may_retry) {
      const status posted = dev.post_send(1, bytes, ends, {.allow_retry = may_retry});
      EXPECT_TRUE(posted.is_posted());
      return posted.ticket();
    };
    const auto end = [&](std::uint64_t ticket, errc error) {
      EXPECT_TRUE(bench.deliver(wire::fin, core::fin_body{ticket, static_cast<std::uint64_t>(error)}));
      const std::optional<completion_record> got = ends.pop();
      ASSERT_TRUE(got.has_value());
      EXPECT_EQ(got->error(), error);
    };
    const auto cancel = [&](std::uint64_t ticket) {
      static_cast<void>(bench.take(wire::send_rts));
      EXPECT_EQ(dev.cancel(ticket), cancel_result::busy);
      EXPECT_EQ(bench.take(wire::withdraw_rts).body<core::withdraw_rts_body>().ticket, ticket);
      end(ticket, errc::cancelled);
    };
    const std::uint64_t first = post(true);
    core::operation_state* const used = bench.state().operations().posts().find(first, step::wait_for_answer);
    ASSERT_NE(used, nullptr);
    cancel(first);
    used->pooled.generation = 0xffff'fffe;
    const std::uint64_t last = post(true);
    ASSERT_EQ(last >> 32, 0xffff'ffffU);
    cancel(last);
    // A message that waits in the backlog, and that nothing cancels, is sent.
    bench.script().refusals = 1;
    const std::uint64_t waiting = post(false);
    ASSERT_LT(waiting >> 32, 3U);  // a post that is refused at first may have used the operation once more
    bench.step();
    static_cast<void>(bench.take(wire::send_rts));
    end(waiting, errc::none);
    // And the next one can be cancelled.
    cancel(post(true));
  });
}

}  // namespace
}  // namespace weft
