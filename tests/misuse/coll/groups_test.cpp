// SPDX-License-Identifier: BSD-3-Clause
// Groups that are none, that are made wrongly, and that end early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coll/group/group_store.hpp"
#include "misuse/coll/outcome.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

using test::outcome;
using test::outcome_of;
using testing::HasSubstr;
using ranks = std::vector<std::uint32_t>;

class wrong_groups : public testing::Test {
 protected:
  wrong_groups() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(wrong_groups, that_were_moved_from_or_are_none_are_refused) {
  test::local_job{1}.run([](runtime& rt) {
    group gone = rt.world().dup();
    const group taken = std::move(gone);
    group never;
    for (group* const each : {&gone, &never}) {
      EXPECT_FALSE(each->is_valid());
      counter none{rt};
      const auto expect_refused = [&](auto&& call) {
        const outcome end = outcome_of(call);
        EXPECT_EQ(end.code, errc::invalid_argument);
        EXPECT_THAT(end.text, HasSubstr("the group is none"));
      };
      expect_refused([&] { collective::barrier().run(*each); });
      expect_refused([&] { static_cast<void>(collective::barrier().post(*each, none)); });
      expect_refused([&] { static_cast<void>(collective::barrier().keep(*each)); });
      expect_refused([&] { static_cast<void>(each->split(0)); });
      expect_refused([&] { static_cast<void>(each->dup()); });
      expect_refused([&] { static_cast<void>(each->by_node()); });
      expect_refused([&] { static_cast<void>(each->include(ranks{0})); });
      expect_refused([&] { static_cast<void>(each->world_rank(0)); });
    }
  });
}

TEST_F(wrong_groups, that_are_none_and_are_asked_end_the_process) {
  const group none;
  EXPECT_DEATH(static_cast<void>(none.size()), "wrong use: a group that is none was asked");
  EXPECT_DEATH(static_cast<void>(none.rank()), "wrong use: a group that is none was asked");
  EXPECT_DEATH(static_cast<void>(none.member(0)), "wrong use: a group that is none was asked");
  EXPECT_DEATH(static_cast<void>(none.device()), "wrong use: a group that is none was asked");
}

TEST_F(wrong_groups, of_ranks_that_there_are_not_are_refused) {
  test::local_job{3}.run([](runtime& rt) {
    group all = rt.world();
    const auto expect_refused = [&](const ranks& of, const char* text) {
      const outcome end = outcome_of([&] { static_cast<void>(make_group(rt, of)); });
      EXPECT_EQ(end.code, errc::invalid_argument);
      EXPECT_THAT(end.text, HasSubstr(text));
      EXPECT_EQ(outcome_of([&] { static_cast<void>(all.include(of)); }).code, errc::invalid_argument);
    };
    expect_refused({rt.rank(), 3}, "there is no rank 3");
    expect_refused({rt.rank(), ~0U}, "there is no rank 4294967295");
    expect_refused({rt.rank(), rt.rank()}, "is named twice");
    expect_refused({(rt.rank() + 1) % 3}, "which calls it, is none of them");
    expect_refused({}, "which calls it, is none of them");
    EXPECT_EQ(outcome_of([&] { static_cast<void>(make_group(rt, ranks{rt.rank()}, group_tags_max)); }).code,
              errc::invalid_argument);
    rt.barrier();
  });
}

// The collectives that were posted are complete later: the group's end waits for no member.
TEST_F(wrong_groups, that_end_while_their_members_are_late_let_collectives_complete) {
  for (const bool is_checked : {false, true}) {
    test::local_job{3, {.check = is_checked}}.run([](runtime& rt) {
      std::uint64_t mine = rt.rank() + 1, sum = 0;
      const collective sums =
          collective::allreduce({&mine, sizeof mine}, {&sum, sizeof sum}, reduction::callable<std::uint64_t>());
      const std::size_t before = coll::group_store::instance(rt).ending();
      counter ends{rt};
      {
        group some = rt.world().dup();
        if (rt.rank() == 2) rt.barrier();
        static_cast<void>(sums.post(some, ends));
      }
      if (rt.rank() != 2) {
        EXPECT_EQ(ends.value(), 0U);
        rt.barrier();
      }
      ASSERT_TRUE(test::eventually(rt.default_device(), [&] { return ends.value() == 1; }));
      EXPECT_EQ(ends.failed(), 0U);
      EXPECT_EQ(sum, 6U);
      { const group last = rt.world().dup(); }
      EXPECT_EQ(coll::group_store::instance(rt).ending(), before);
      rt.barrier();
    });
  }
}

// A sender need not wait for a receiver that is late, nor the receiver for a sender that has ended its group.
TEST_F(wrong_groups, that_end_at_the_root_before_others_have_received_deliver) {
  test::local_job{2, {.check = false}}.run([](runtime& rt) {
    std::optional<group> some = rt.world().dup();
    std::uint64_t word = rt.rank() == 0 ? 9 : 0;
    if (rt.rank() == 0) {
      collective::broadcast({&word, sizeof word}).run(*some);
      some.reset();
      rt.barrier();
    } else {
      rt.barrier();
      collective::broadcast({&word, sizeof word}).run(*some);
      EXPECT_EQ(word, 9U);
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
