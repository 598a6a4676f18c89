// SPDX-License-Identifier: BSD-3-Clause
// A descriptor for event loops: nothing is slept through. A wake-up that is missed costs 100 ms each time, so that
// these tests would not end in time.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <thread>

#include "support/between_threads.hpp"
#include "support/time_limit.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint64_t usual_event_rounds = test::under_sanitizer ? 200 : 1000;
const std::uint64_t event_rounds = test::messages_wake_sleepers() ? usual_event_rounds : 3;

bool is_readable(int fd, int milliseconds) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, milliseconds) == 1;
}

// What an event loop does until `done()`; false past the bound.
template <class Descriptor, class Done>
bool event_loop_until(device& dev, Descriptor& ready, int fd, Done done) {
  test::time_limit limit;
  while (!done()) {
    if (limit.is_over()) return false;
    if (dev.progress() || !ready.arm() || done()) continue;
    EXPECT_TRUE(is_readable(fd, 60000));
  }
  return true;
}

TEST(wait_descriptor, becomes_readable_with_a_message) {
  test::local_job{2}.run([](runtime& rt) {
    device dev{rt};
    wait_descriptor ready{dev};
    counter heard{rt};
    const registration mail = rt.register_completion(heard, {.id = 1});
    counter local{rt};
    rt.barrier();
    const std::uint32_t peer = 1 - rt.rank();
    for (std::uint64_t round = 1; round <= event_rounds; ++round) {
      if (rt.rank() == 0) test::post_until_taken(dev, peer, {1}, {}, local);
      EXPECT_TRUE(event_loop_until(dev, ready, ready.fd(), [&] { return heard.value() >= round; }));
      if (rt.rank() == 1) test::post_until_taken(dev, peer, {1}, {}, local);
    }
    rt.barrier();
  });
}

TEST(wait_descriptor, of_the_runtime_is_that_of_the_default_device) {
  test::local_job{2}.run([](runtime& rt) {
    counter heard{rt};
    const registration mail = rt.register_completion(heard, {.id = 1});
    counter local{rt};
    rt.barrier();
    EXPECT_EQ(rt.wait_fd(), rt.wait_fd());
    device& dev = rt.default_device();
    for (std::uint64_t round = 1; round <= 20 && round <= event_rounds; ++round) {
      test::post_until_taken(dev, 1 - rt.rank(), {1}, {}, local);
      EXPECT_TRUE(event_loop_until(dev, rt, rt.wait_fd(), [&] { return heard.value() >= round; }));
    }
    rt.barrier();
  });
}

// The signal comes from another thread that makes progress, or from the program itself.
TEST(wait_descriptor, becomes_readable_with_a_signal_of_another_thread) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    wait_descriptor ready{dev};
    counter count{rt};
    test::published<std::uint64_t> seen;
    std::thread other{[&] {
      for (std::uint64_t round = 1; round <= event_rounds; ++round) {
        EXPECT_EQ(count.signal(completion_record{}), completion::answer::taken);
        EXPECT_TRUE(test::eventually([&] { return seen.value() >= round; }));
      }
    }};
    for (std::uint64_t round = 1; round <= event_rounds; ++round) {
      EXPECT_TRUE(event_loop_until(dev, ready, ready.fd(), [&] { return count.value() >= round; }));
      seen.publish(round);
    }
    other.join();
  });
}

TEST(wait_descriptor, is_not_armed_while_there_is_something_to_do) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    wait_descriptor ready{dev};
    counter heard{rt};
    const registration mail = rt.register_completion(heard, {.id = 1});
    counter local{rt};
    EXPECT_FALSE(is_readable(ready.fd(), 0));
    test::post_until_taken(dev, 0, {1}, {}, local);
    EXPECT_TRUE(test::eventually(dev, [&] { return !ready.arm() || heard.value() == 1; }));
    EXPECT_TRUE(test::eventually(dev, [&] { return heard.value() == 1; }));
    wait_descriptor another{dev};  // that one may be armed
    bool goes_on = true;
    hook kept = dev.add_hook([&] { return goes_on ? hook_answer::no_progress : hook_answer::done; });
    EXPECT_FALSE(another.arm()) << "a hook wants to be called";
    goes_on = false;
    EXPECT_TRUE(test::eventually(dev, [&] { return another.arm(); }));
    EXPECT_TRUE(another.arm()) << "it is armed already";
  });
}

TEST(wait_descriptor, may_go_while_it_is_armed) {
  test::local_job{1}.run([](runtime& rt) {
    for (int i = 0; i < 20; ++i) {
      wait_descriptor ready{rt.default_device()};
      EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return ready.arm(); }));
    }
  });
}

}  // namespace
}  // namespace weft
