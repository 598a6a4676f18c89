// SPDX-License-Identifier: BSD-3-Clause
// Another thread sees that messages wait for a poll, while the device's thread polls or not.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/runtime/runtime_state.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

bool holds_unread(runtime& rt) { return test::local_job::state_of(rt).devices().standard().endpoints().hold_unread(); }

TEST(unread_messages, are_seen_until_they_are_polled_from_a_peer_and_from_the_rank_itself) {
  for (const bool is_shared : {true, false}) {
    test::local_job{2, {.default_device = {.shared = is_shared}}}.run([](runtime& rt) {
      device& dev = rt.default_device();
      counter got{rt}, sent{rt};
      const registration arrivals = rt.register_completion(got, {.id = 1});
      rt.barrier();
      // More than a ring has, so that it begins again; the first message opens a ring.
      for (std::uint64_t round = 1; round <= 1000; ++round) {
        const std::uint32_t target = round % 2 == 0 ? rt.rank() : 1 - rt.rank();
        dev.until_accepted([&] { return dev.post_am(target, {1}, {}, sent); });
        if (rt.rank() == 0 && got.value() < round) {
          EXPECT_TRUE(test::eventually([&] { return got.value() >= round || holds_unread(rt); }));
        }
        EXPECT_TRUE(test::eventually(dev, [&] { return got.value() >= round; }));
      }
      rt.barrier();
      EXPECT_TRUE(test::eventually(dev, [&] { return !holds_unread(rt); }));
      rt.barrier();
    });
  }
}

TEST(unread_messages, may_be_looked_for_while_the_thread_of_the_device_polls) {
  test::local_job{3, {.default_device = {.shared = false}}}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter got{rt}, sent{rt};
    const registration arrivals = rt.register_completion(got, {.id = 1});
    rt.barrier();
    std::atomic<bool> is_over{false};
    std::jthread looks{[&] {
      // [hint] The thread is joined.
      while (!is_over.load(std::memory_order_relaxed)) static_cast<void>(holds_unread(rt));
    }};
    for (std::uint64_t round = 1; round <= 300; ++round) {
      for (std::uint32_t target = 0; target < rt.size(); ++target)
        dev.until_accepted([&] { return dev.post_am(target, {1}, {}, sent); });
      EXPECT_TRUE(test::eventually(dev, [&] { return got.value() >= round; }));
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return got.value() == 900; }));
    is_over.store(true, std::memory_order_relaxed);  // [hint] the thread is joined
    looks.join();
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
