// SPDX-License-Identifier: BSD-3-Clause
// Fibers that break a rule end the process with a line that says which.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

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
  EXPECT_DEATH(wrong(), "wrong use: a fiber that nobody joins threw.*: lost");
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
  // By the guard page: a page that exists and may not be touched, not one that is missing.
  const auto touches_guard_page = [&] {
    static std::array<char, 16384> stack;
    const stack_t other{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
    weft::fiber_scheduler fibers{{.stack_bytes = 16384, .guarded_stacks = 1000}};
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      constexpr std::string_view text = "touched a page that is protected\n";
      if (info->si_code == SEGV_ACCERR) static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
      ::_exit(3);
    };
    ::sigaction(SIGSEGV, &action, nullptr);
    fibers
        .spawn([&] {
          ::sigaltstack(&other, nullptr);
          static_cast<void>(go_deep(32));
        })
        .join();
  };
  EXPECT_EXIT(touches_guard_page(), testing::ExitedWithCode(3), "touched a page that is protected");
  EXPECT_EXIT(wrong(1000), testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
