// SPDX-License-Identifier: BSD-3-Clause
// Terminations of groups by a printed seed: several groups at the same time, each with its own work and device, and
// members that wait in random forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "coll/spreading_work.hpp"
#include "support/random_seed.hpp"
#include "support/waiting.hpp"
#include "weft/termination.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// Drawn alike by all ranks.
struct plan {
  std::uint32_t ranks;
  std::uint32_t groups;
  std::uint32_t rounds;
  bool has_own_device;
  bool holds;  // each piece counts once more, as work
};

void wait_for(runtime& rt, termination& counts, std::uint32_t form) {
  switch (form) {
    case 0: ASSERT_TRUE(counts.wait(test::with_patience)); break;
    case 1: ASSERT_TRUE(test::eventually([&] { return counts.test(); })); break;
    default:
      synchronizer end{rt};
      static_cast<void>(counts.post(end));
      ASSERT_TRUE(rt.default_device().wait(end, test::with_patience));
      EXPECT_EQ(end.take()->error(), errc::none);
  }
}

void carry_out(const plan& drawn, std::uint64_t seed) {
  std::vector<test::pieces_left> left(drawn.groups);
  test::local_job{drawn.ranks}.run([&](runtime& rt) {
    group all = rt.world();
    device own{rt, {.shared = true}};
    const std::uint32_t colour = rt.rank() % drawn.groups;
    group members = all.split(colour);
    termination counts{members, {.device = drawn.has_own_device ? &own : nullptr}};
    std::minstd_rand random{static_cast<std::uint32_t>(seed + rt.rank())};
    const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
    test::spreading_work work{members, counts, left[colour], below(1000)};
    handler on_work{rt, [&](completion_record& message) {
                      if (drawn.holds) counts.begin_work();
                      work.handle(message);
                      if (drawn.holds) counts.end_work();
                    }};
    const registration arrivals = rt.register_completion(on_work, {.id = test::spreading_works.id});
    rt.barrier();
    std::uint64_t sent = 0;
    for (std::uint32_t round = 0; round < drawn.rounds; ++round) {
      for (std::uint32_t first = below(3); first != 0; --first) {
        const std::uint32_t level = below(6);
        work.send(level);
        sent += test::spreading_work::pieces_of(level);
      }
      // A member that waits through a device of its own makes progress there alone; another thread serves messages.
      if (drawn.has_own_device) {
        ASSERT_TRUE(test::eventually(rt.default_device(), [&] { return counts.test(); }));
      } else {
        wait_for(rt, counts, below(3));
      }
      EXPECT_EQ(left[colour].count(), 0U) << "round " << round;
      collective::barrier().run(members);
    }
    std::uint64_t all_sent = 0;
    collective::allreduce(std::span<const std::uint64_t>{&sent, 1}, std::span<std::uint64_t>{&all_sent, 1})
        .run(members);
    EXPECT_EQ(work.handled_by_all(), all_sent);
    work.settle();
    rt.barrier();
  });
}

TEST(random_terminations, end_when_nothing_is_left_and_not_before) {
  const std::uint64_t seed = test::random_seed();
  std::minstd_rand random{static_cast<std::uint32_t>(seed)};
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const std::uint32_t jobs = test::under_sanitizer ? 10 : 20;
  for (std::uint32_t i = 0; i < jobs; ++i) {
    plan drawn{.ranks = 1 + below(9),
               .groups = 1 + below(3),
               .rounds = 1 + below(4),
               .has_own_device = below(2) != 0,
               .holds = below(2) != 0};
    drawn.groups = std::min(drawn.groups, drawn.ranks);
    SCOPED_TRACE(::testing::Message() << "job " << i << ": " << drawn.ranks << " ranks in " << drawn.groups
                                      << " groups");
    carry_out(drawn, seed + i);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft
