// SPDX-License-Identifier: BSD-3-Clause
// A device of one thread's own that several threads use for a time.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint64_t count = 600;

// Sends to the other rank's own device, and receives as many messages.
void exchange(device& own, counter& done, std::uint64_t tag) {
  const std::uint32_t peer = 1 - own.runtime().rank();
  std::vector<std::uint64_t> received(count);
  for (std::uint64_t& into : received) {
    own.until_accepted([&] { return own.post_recv(peer, {&into, sizeof into}, done, {.tag = tag}); });
    own.until_accepted([&] {
      return own.post_send(peer, {&tag, sizeof tag}, done, {.tag = tag, .device = own.index()});
    });
  }
  own.wait_all(done);
}

TEST(set_shared, a_progress_thread_may_share_a_device_for_a_time) {
  test::local_job{2}.run([](runtime& rt) {
    device own{rt, {.shared = false, .only_named = true}};
    rt.barrier();
    for (std::uint64_t round = 0; round < 4; ++round) {
      const bool is_shared = round % 2 == 1;
      counter done{rt};
      std::optional<progress_thread> helper;
      if (is_shared) {
        detail::set_shared(own, true);
        helper.emplace(own);
      }
      EXPECT_EQ(own.is_shared(), is_shared);
      exchange(own, done, round);
      EXPECT_EQ(done.failed(), 0U);
      helper.reset();
      detail::set_shared(own, false);
    }
    EXPECT_THROW(progress_thread{own}, error);
    EXPECT_EQ(own.counters().posts.sends.operations, 4 * count);
    rt.barrier();
  });
}

TEST(set_shared, is_refused_for_devices_that_others_may_poll) {
  runtime rt;
  device shared{rt};
  EXPECT_THROW(detail::set_shared(shared, false), error);
  EXPECT_THROW(detail::set_shared(rt.default_device(), true), error);
  device own{rt, {.shared = false}};
  detail::set_shared(own, true);  // and destroyed so
}

}  // namespace
}  // namespace weft
