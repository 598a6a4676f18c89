// SPDX-License-Identifier: BSD-3-Clause
// A thread that makes progress for others.
#include "weft/progress_thread.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/time_limit.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(progress_thread, answers_while_everybody_else_computes) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue inbox{rt}, sent{rt};
    test::tally<> handled;
    handler answers{rt, [&](completion_record&& record) {
                      handled.add();
                      EXPECT_EQ(record.tag(), 3U);
                    }};
    const auto arrivals = rt.register_completion(answers, {.id = 1});
    rt.barrier();
    {
      progress_thread helper{dev};
      const status answer =
          test::post(dev, [&] { return dev.post_am(1 - rt.rank(), {1}, const_buffer_ref{}, sent, {.tag = 3}); });
      EXPECT_TRUE(answer.is_done());
      // Makes no progress of its own.
      test::time_limit limit;
      while (handled.value() == 0 && !limit.is_over()) std::this_thread::yield();
      EXPECT_EQ(handled.value(), 1U);
    }
    rt.barrier();
  });
}

TEST(progress_thread, ends_while_it_sleeps_and_at_once) {
  test::local_job{1}.run([](runtime& rt) {
    for (int i = 0; i < (test::messages_wake_sleepers() ? 20 : 4); ++i) {
      progress_thread helper{rt.default_device(), {.spins = 0}};
      if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    for (const wait_mode mode : {wait_mode::spin, wait_mode::yield}) {
      progress_thread helper{rt.default_device(), {.timeout = std::chrono::milliseconds{1}, .mode = mode}};
      std::this_thread::sleep_for(std::chrono::milliseconds{3});
    }
  });
}

// What a post leaves to be done is done by it, though no message tells of it.
TEST(progress_thread, goes_on_with_what_a_post_has_begun) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::vector<std::byte> memory(std::size_t{1} << 21, static_cast<std::byte>(rt.rank() + 1)), got(memory.size());
    memory_region region{rt, std::span{memory}};
    completion_queue inbox{rt};
    counter sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    const std::uint32_t peer = 1 - rt.rank();
    EXPECT_TRUE(test::post(dev, [&] {
                  return dev.post_am(peer, {1}, std::as_bytes(std::span{&region.handle(), 1}), sent);
                }).is_done());
    const auto named = dev.wait(inbox, {.timeout = std::chrono::minutes{1}});
    ASSERT_TRUE(named.has_value());
    remote_region there;
    std::memcpy(&there, named->data().data(), sizeof there);
    {
      progress_thread helper{dev, {.spins = 0}};
      std::uint64_t posted = 0;
      for (int round = 0; round < (test::messages_wake_sleepers() ? 40 : 2); ++round) {
        status answer = status::retry(shortage::none);
        ASSERT_TRUE(test::eventually([&] {
          answer = dev.post_get(peer, std::span{got}, {there, 0}, sent);
          return !answer.is_retry();
        }));
        posted += answer.is_posted();
        ASSERT_TRUE(test::eventually([&] { return sent.value() >= posted; }));
        EXPECT_EQ(got.back(), static_cast<std::byte>(peer + 1));
      }
    }
    rt.barrier();
  });
}

TEST(progress_thread, takes_no_device_of_one_threads_own) {
  test::local_job{1}.run([](runtime& rt) {
    device own{rt, {.shared = false}};
    EXPECT_THROW(progress_thread{own}, error);
  });
}

}  // namespace
}  // namespace weft
