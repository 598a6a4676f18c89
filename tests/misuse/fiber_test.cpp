// Fibers that break a rule end the process with a line that says which.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "support/waiting.hpp"
#include "weft/fiber.hpp"

namespace {

class fiber_misuse : public testing::Test {
 protected:
  fiber_misuse() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(fiber_misuse, a_scheduler_that_goes_before_its_fibers) {
  const auto wrong = [] {
    weft::fiber waits;
    {
      weft::fiber_scheduler fibers;
      waits = fibers.spawn([] {
        for (;;) weft::this_fiber::wait();
      });
    }
  };
  EXPECT_DEATH(wrong(), "wrong use: a fiber scheduler is destroyed before a fiber has ended");
}

TEST_F(fiber_misuse, a_scheduler_that_goes_before_a_fiber_that_has_ended_was_joined) {
  const auto wrong = [] {
    weft::fiber ended;
    {
      weft::fiber_scheduler fibers;
      ended = fibers.spawn([] {});
      while (fibers.alive() != 0) weft::this_fiber::yield();
    }
  };
  EXPECT_DEATH(wrong(), "wrong use: a fiber scheduler is destroyed before an object of class fiber was joined");
}

TEST_F(fiber_misuse, a_detached_one_that_throws) {
  const auto wrong = [] {
    weft::fiber_scheduler fibers;
    fibers
        .spawn([] {
          weft::this_fiber::yield();
          throw std::runtime_error{"lost"};
        })
        .detach();
    while (fibers.alive() != 0) weft::this_fiber::yield();
  };
  EXPECT_DEATH(wrong(), "wrong use: a fiber that nobody joins threw");
}

// Writes below the bottom of its stack of 16 KiB.
[[gnu::noinline]] std::uint64_t go_deep(unsigned depth) {
  std::array<volatile std::uint64_t, 64> frame;
  for (auto& each : frame) each = depth;
  const std::uint64_t below = depth == 0 ? 0 : go_deep(depth - 1);
  weft::this_fiber::yield();
  return below + frame[depth % 64];
}

TEST_F(fiber_misuse, one_that_overruns_its_stack) {
  if (weft::test::under_sanitizer) GTEST_SKIP() << "frames are larger there, and the sanitizer has its own words";
  const auto wrong = [](std::uint32_t guarded) {
    weft::fiber_scheduler fibers{{.stack_bytes = 16384, .guarded_stacks = guarded}};
    fibers.spawn([] { static_cast<void>(go_deep(32)); }).join();
  };
  EXPECT_DEATH(wrong(0), "wrong use: a fiber has overrun its stack");
  EXPECT_DEATH(wrong(1000), "");  // by the page that nobody may touch
}

}  // namespace
