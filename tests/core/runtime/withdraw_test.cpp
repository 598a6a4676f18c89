// SPDX-License-Identifier: BSD-3-Clause
// Objects that end while handlers of another thread run nearly all the time: the end waits for one pass of each poller,
// not for a moment at which none is inside.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// As long as a program's slow handler takes: it is the load of these tests, nothing is ordered by it.
void work_for_a_millisecond() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
  while (std::chrono::steady_clock::now() < until) {
  }
}

TEST(withdraw, of_registrations_hooks_and_engines_ends_while_slow_handlers_run_all_the_time) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt};
    test::flag stop;
    test::tally<> calls;
    const hook slow_hook = dev.add_hook([&] {
      calls.add();
      work_for_a_millisecond();
      return hook_answer::progress;
    });
    handler slow{rt, [&](completion_record&&) {
                   calls.add();
                   work_for_a_millisecond();
                 }};
    const registration slow_here = rt.register_completion(slow, {.id = 1});
    std::jthread polls{[&] {
      while (!stop.is_raised()) {
        static_cast<void>(dev.post_am(rt.rank(), {1}, {"x", 1}, sent));
        dev.progress();
      }
    }};
    EXPECT_TRUE(test::eventually([&] { return calls.value() > 3; }));
    constexpr std::uint32_t rounds = 20;
    for (std::uint32_t i = 0; i < rounds; ++i) {
      // Each is used by the poller until the moment at which it ends; memory that has gone would be seen by a
      // sanitizer.
      const auto uses = std::make_unique<test::tally<>>();
      hook called = dev.add_hook([&] {
        uses->add();
        return hook_answer::no_progress;
      });
      handler counts{rt, [&](completion_record&&) { uses->add(); }};
      std::optional<registration> here{rt.register_completion(counts, {.id = 2 + i})};
      std::optional<matching_engine> engine{std::in_place, rt, matching_engine_options{.id = 2 + i}};
      static_cast<void>(dev.post_am(rt.rank(), {2 + i}, {"x", 1}, sent));
      EXPECT_TRUE(test::eventually([&] { return uses->value() != 0; }));
      called.remove();
      here.reset();
      engine.reset();
      const std::uint64_t at_end = uses->value();
      const std::uint64_t before = calls.value();
      EXPECT_TRUE(test::eventually([&] { return calls.value() > before + 1; }));
      EXPECT_EQ(uses->value(), at_end);
    }
    stop.raise();
  });
}

}  // namespace
}  // namespace weft
