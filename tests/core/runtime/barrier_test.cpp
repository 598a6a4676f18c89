// SPDX-License-Identifier: BSD-3-Clause
// Barriers: with time limits, posted, and by coroutines, in one order or another.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/await.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::eventually;

TEST(barrier, that_reaches_its_limit_is_continued_by_the_next_call) {
  test::flag may_enter;
  test::local_job{2}.run([&](runtime& rt) {
    if (rt.rank() == 0) {
      for (int i = 0; i < 20; ++i) EXPECT_FALSE(rt.barrier({.timeout = 0ns}));
      EXPECT_FALSE(rt.barrier({.timeout = 2ms}));
      std::stop_source stop;
      std::jthread stops{[&] { stop.request_stop(); }};
      EXPECT_FALSE(rt.barrier({.stop = stop.get_token()}));
      may_enter.raise();
    } else {
      EXPECT_TRUE(eventually([&] { return may_enter.is_raised(); }));
    }
    EXPECT_TRUE(rt.barrier({.timeout = test::patience})) << "all of these calls are one barrier";
    EXPECT_TRUE(rt.barrier());
  });
}

// Passes one barrier by function `how`.
void pass(runtime& rt, run_loop& loop, unsigned how) {
  device& dev = rt.default_device();
  switch (how % 4) {
    case 0: EXPECT_TRUE(rt.barrier()); break;
    case 1: {
      counter passed{rt};
      static_cast<void>(rt.post_barrier(passed, {.allow_done = how % 8 < 4}));
      EXPECT_TRUE(eventually(dev, [&] { return passed.outstanding() == 0; }));
      break;
    }
    case 2: EXPECT_TRUE(eventually([&] { return rt.barrier({.timeout = 0ns}); })); break;
    case 3:
      loop.spawn([](run_loop& by) -> task<> { co_await by.barrier(); }(loop));
      loop.run();
      break;
  }
}

TEST(barrier, keeps_all_ranks_together_whichever_functions_they_call) {
  constexpr std::uint32_t rounds = 40;
  for (const std::uint32_t ranks : {1U, 2U, 3U, 5U}) {
    test::tally<> entered;
    test::local_job{ranks}.run([&](runtime& rt) {
      run_loop loop{rt.default_device()};
      for (std::uint32_t round = 1; round <= rounds; ++round) {
        entered.add();
        pass(rt, loop, round + round / 4 * rt.rank());
        EXPECT_GE(entered.value(), round * ranks) << "a rank has passed before all were there";
      }
      rt.barrier();
    });
  }
}

TEST(barrier, that_is_posted_gives_a_record) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt};
    int mark = 0;
    const status answer = rt.post_barrier(ends, {.context = &mark, .allow_done = false});
    EXPECT_TRUE(answer.is_posted());
    EXPECT_EQ(dev.cancel(answer.ticket()), cancel_result::too_late);
    std::optional<completion_record> end;
    EXPECT_TRUE(eventually(dev, [&] { return (end = ends.pop()).has_value(); }));
    EXPECT_EQ(end->operation(), operation::barrier);
    EXPECT_STREQ(name_of(end->operation()), "barrier");
    EXPECT_EQ(end->peer(), rt.rank());
    EXPECT_EQ(end->error(), errc::none);
    EXPECT_EQ(end->context(), &mark);
    rt.barrier();
  });
}

// A handler that gets the signal of a barrier may post the next one.
TEST(barrier, may_be_posted_by_the_signal_of_the_one_before) {
  test::local_job{3}.run([](runtime& rt) {
    int passed = 0;
    completion* self = nullptr;
    handler next{rt, [&](completion_record&& end) {
                   EXPECT_EQ(end.error(), errc::none);
                   if (++passed < 100) static_cast<void>(rt.post_barrier(*self, {.allow_done = false}));
                 }};
    self = &next;
    static_cast<void>(rt.post_barrier(next, {.allow_done = false}));
    EXPECT_TRUE(eventually(rt.default_device(), [&] { return passed == 100 && next.outstanding() == 0; }));
    rt.barrier();
  });
}

// The error of a call; `none` if there is none.
template <class Call>
errc error_of(const Call& call) {
  try {
    call();
  } catch (const error& thrown) {
    return thrown.code();
  }
  return errc::none;
}

TEST(barrier, that_is_under_way_refuses_a_second_one_of_its_rank) {
  test::flag may_enter;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    counter passed{rt};
    if (rt.rank() == 0) {
      EXPECT_TRUE(rt.post_barrier(passed).is_posted());
      EXPECT_EQ(error_of([&] { rt.barrier(); }), errc::invalid_state);
      EXPECT_EQ(error_of([&] { static_cast<void>(rt.post_barrier(passed)); }), errc::invalid_state);
      EXPECT_EQ(passed.outstanding(), 1U);
      may_enter.raise();
      EXPECT_TRUE(eventually(dev, [&] { return passed.value() == 1; }));
    } else {
      EXPECT_TRUE(eventually([&] { return may_enter.is_raised(); }));
      rt.barrier();
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
