// SPDX-License-Identifier: BSD-3-Clause
// Terminations that are used wrongly, given up, or lose a member.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "coll/spreading_work.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/termination.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::with_patience;

// The code of the error that `call` throws.
template <class Call>
errc code_of(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const error& thrown) {
    return thrown.code();
  }
  return errc::none;
}

TEST(termination_misuse, of_counts_is_an_error_at_all_members) {
  for (const std::uint32_t ranks : {1U, 3U}) {
    test::local_job{ranks}.run([](runtime& rt) {
      group all = rt.world();
      termination counts{all};
      counts.sent();
      counts.handled(rt.rank() == 0 ? 2 : 1);
      for (int i = 0; i < 2; ++i) {
        try {
          static_cast<void>(counts.wait(with_patience));
          ADD_FAILURE() << "the counts can't be right";
        } catch (const error& thrown) {
          EXPECT_EQ(thrown.code(), errc::invalid_state);
          EXPECT_NE(std::string{thrown.what()}.find("handled"), std::string::npos) << thrown.what();
        }
      }
      collective::barrier().run(all);
    });
  }
}

TEST(termination_misuse, of_its_end_is_refused) {
  test::local_job{1}.run([](runtime& rt) {
    group all = rt.world();
    termination counts{all};
    EXPECT_EQ(code_of([&] { counts.end_work(); }), errc::invalid_state) << "no work was begun";
    EXPECT_EQ(code_of([&] { counts.begin_work(), counts.end_work(), counts.end_work(); }), errc::invalid_state);
  });
}

TEST(termination_misuse, of_a_second_wait_is_refused) {
  for (const std::uint32_t ranks : {1U, 2U}) {
    test::local_job{ranks}.run([](runtime& rt) {
      group all = rt.world();
      termination counts{all};
      completion_queue ends{rt};
      counts.begin_work();
      EXPECT_TRUE(counts.post(ends).is_posted());
      EXPECT_EQ(code_of([&] { return counts.post(ends); }), errc::invalid_state);
      EXPECT_EQ(code_of([&] { return counts.test(); }), errc::invalid_state);
      EXPECT_EQ(code_of([&] { return counts.wait(with_patience); }), errc::invalid_state);
      counts.end_work();
      EXPECT_TRUE(rt.default_device().wait(ends, with_patience).has_value());
      EXPECT_TRUE(counts.wait(with_patience)) << "a refusal leaves it as it was";
      collective::barrier().run(all);
    });
  }
}

TEST(termination_misuse, of_objects_of_another_runtime_is_refused) {
  test::local_job{2}.run([&](runtime& rt) {
    static test::published<runtime*> others[2];
    others[rt.rank()].publish(&rt);
    rt.barrier();
    runtime& other = *others[1 - rt.rank()].value();
    group all = rt.world();
    device strange{other, {.shared = true}};
    EXPECT_EQ(code_of([&] { return termination{all, {.device = &strange}}.test(); }), errc::invalid_argument);
    completion_queue ends{other};
    termination counts{all};
    EXPECT_EQ(code_of([&] { return counts.post(ends); }), errc::invalid_argument);
    EXPECT_TRUE(counts.wait(with_patience)) << "a refusal leaves it as it was";
    rt.barrier();
  });
}

TEST(termination_misuse, of_a_wait_inside_a_handler_is_refused) {
  test::local_job{1}.run([](runtime& rt) {
    group all = rt.world();
    termination counts{all};
    std::uint32_t calls = 0;
    handler on_end{rt, [&](completion_record&&) {
                     ++calls;
                     EXPECT_EQ(code_of([&] { return counts.wait(with_patience); }), errc::invalid_state);
                     EXPECT_EQ(code_of([&] { return counts.test(); }), errc::invalid_state);
                   }};
    static_cast<void>(counts.post(on_end));
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return calls == 1; }));
  });
}

TEST(termination_misuse, of_nothing_lets_each_member_give_up) {
  test::local_job{3}.run([](runtime& rt) {
    group all = rt.world();
    {
      termination counts{all};
      counts.sent();
      // Member 2 holds a wave up, and gives up without having joined it.
      if (rt.rank() == 2) counts.begin_work();
      EXPECT_FALSE(counts.wait({.timeout = 1ms}));
      EXPECT_FALSE(counts.test());
    }
    collective::barrier().run(all);
  });
}

// A rank is declared ended that is still there: the others are informed, whichever of them exchanges messages with it.
TEST(termination_misuse, by_a_member_that_ends_is_an_error_at_the_others) {
  const std::uint32_t ranks = 5;
  test::tally<> waiting, informed;
  test::local_job{ranks}.run([&](runtime& rt) {
    group all = rt.world();
    device& dev = rt.default_device();
    termination counts{all};
    rt.barrier();
    if (rt.rank() != 3) {
      counts.sent();
      EXPECT_FALSE(counts.wait({.timeout = 1ms}));
      waiting.add();
      EXPECT_TRUE(test::eventually(dev, [&] { return waiting.value() == ranks - 1; }));
      test::local_job::state_of(rt).peer_ends().note({.rank = 3, .in_order = false});
      for (int i = 0; i < 2; ++i) EXPECT_EQ(code_of([&] { return counts.wait(with_patience); }), errc::peer_failed);
      informed.add();
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return informed.value() == ranks - 1; }));
  });
}

}  // namespace
}  // namespace weft
