// SPDX-License-Identifier: BSD-3-Clause
// Names of groups: given once, and again only where no member has a group of that name.
#include "coll/group/group_names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "coll/group/group_store.hpp"
#include "support/random_seed.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft::coll {
namespace {

constexpr std::uint64_t numbers = std::uint64_t{1} << group_name::number_bits;

TEST(group_names, are_counted_and_say_when_they_are_used_again) {
  group_names names{3};
  EXPECT_EQ(names.take().number, 0U);
  EXPECT_EQ(names.take().number, 1U);
  EXPECT_TRUE(names.lives({3, 0}));
  EXPECT_FALSE(names.lives({3, 2}));
  EXPECT_FALSE(names.lives({2, 0}));
  names.end({3, 1});
  names.count_from(numbers - 1);
  const group_names::suggestion last = names.take(), second = names.take();
  EXPECT_EQ(last.number, numbers - 1);
  EXPECT_EQ(last.was_used, 0U);
  EXPECT_EQ(second.number, 1U) << "number 0 lives";
  EXPECT_EQ(second.was_used, 1U);
}

TEST(group_names, that_are_all_taken_are_refused) {
  group_names names{0};
  for (std::uint64_t i = 0; i < numbers; ++i) static_cast<void>(names.take());
  EXPECT_THROW(static_cast<void>(names.take()), error);
  names.end({0, 77});
  EXPECT_EQ(names.take().number, 77U);
}

TEST(group_names, of_the_librarys_own_are_not_counted) {
  group_names names{0};
  names.begin({});
  EXPECT_FALSE(names.lives({}));
}

// Rank 0 has led 2^20 groups. Rank 1 still has some of them that rank 0 has ended.
TEST(group_names, are_not_given_again_while_a_member_has_a_group_of_that_name) {
  test::local_job{3}.run([](runtime& rt) {
    group all = rt.world();
    std::vector<group> kept;
    for (int i = 0; i < 8; ++i) {
      group each = all.dup();
      const bool keeps = rt.rank() == 0 ? i == 0 : rt.rank() == 1 ? i % 2 == 0 : i == 3;
      if (keeps) kept.push_back(each);
    }
    collective::barrier().run(all);
    if (rt.rank() == 0) group_store::instance(rt).names().count_from(numbers);
    std::vector<group> again;
    const auto expect_numbers_of = [&](group made) {
      // All members have one name, and a collective in it works.
      std::uint32_t sum = 0;
      const std::uint32_t one = rt.rank();
      collective::allreduce({&one, sizeof one}, {&sum, sizeof sum}, reduction::callable<std::uint32_t>()).run(made);
      EXPECT_EQ(sum, made.size() == 3 ? 3U : 1U);
      again.push_back(std::move(made));
    };
    // Numbers 0, 2, 4 and 6 live at rank 1, and 3 at rank 2.
    expect_numbers_of(all.dup());
    for (const std::uint32_t each : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U})
      EXPECT_TRUE(group_store::instance(rt).names().lives({0, each}) ==
                  (each == 1 || (rt.rank() == 0 && each == 0) || (rt.rank() == 1 && each % 2 == 0) ||
                   (rt.rank() == 2 && each == 3)))
          << each;
    const std::uint32_t two[] = {0, 1};
    if (rt.rank() != 2) expect_numbers_of(all.include(two));  // number 3, which rank 2 alone has
    group half = all.split(rt.rank() == 2 ? 1 : 0);
    if (rt.rank() != 2) expect_numbers_of(half);
    if (rt.rank() == 1) {
      EXPECT_TRUE(group_store::instance(rt).names().lives({0, 3}));
      EXPECT_TRUE(group_store::instance(rt).names().lives({0, 5}));
    }
    collective::barrier().run(all);
  });
}

// The sum of 1 of each member; a collective of an own message each.
std::uint32_t members_of(group in) {
  std::uint32_t sum = 0;
  const std::uint32_t one = 1;
  collective::allreduce({&one, sizeof one}, {&sum, sizeof sum}, reduction::callable<std::uint32_t>()).run(in);
  return sum;
}

TEST(group_names, that_members_give_make_groups_without_messages) {
  test::local_job{3}.run([](runtime& rt) {
    group all = rt.world();
    // The first rank has its group before the others begin.
    group copy;
    if (rt.rank() == 0) copy = all.dup({.name = 0});
    collective::barrier().run(all);
    if (rt.rank() != 0) copy = all.dup({.name = 0});
    EXPECT_EQ(members_of(copy), 3U);
    const std::uint32_t two[] = {2, 0};
    group some;
    if (rt.rank() != 1) some = make_group(rt, two, 0, {.name = group_names_max - 1});
    if (some.is_valid()) {
      EXPECT_EQ(members_of(some), 2U);
      EXPECT_EQ(some.rank(), rt.rank() == 2 ? 0U : 1U);
      group one = some.split(rt.rank(), 0, {.name = 7 + rt.rank()});
      EXPECT_EQ(members_of(one), 1U);
      EXPECT_EQ(one.world_rank(0), rt.rank());
    }
    group from_library = all.dup();
    EXPECT_EQ(members_of(from_library), 3U);
    EXPECT_EQ(members_of(copy), 3U);
    collective::barrier().run(all);
  });
}

TEST(group_names, that_members_give_are_refused_while_they_live_and_where_they_are_too_large) {
  test::local_job{1}.run([](runtime& rt) {
    group first = rt.world().dup({.name = 5});
    EXPECT_THROW(static_cast<void>(rt.world().dup({.name = 5})), error);
    EXPECT_THROW(static_cast<void>(rt.world().dup({.name = group_names_max})), error);
    first = {};
    EXPECT_TRUE(rt.world().dup({.name = 5}).is_valid());
  });
}

// A group of one rank costs no message, so that all numbers can be used up.
TEST(group_names, of_more_groups_than_there_are_numbers_are_given) {
  if (weft::test::under_sanitizer) GTEST_SKIP() << "a million groups take long under a sanitizer";
  test::local_job{1}.run([](runtime& rt) {
    group all = rt.world();
    const group first = all.dup();
    for (std::uint64_t i = 0; i < numbers + 10; ++i) {
      group each = all.dup();
      ASSERT_EQ(each.size(), 1U);
    }
    EXPECT_TRUE(group_store::instance(rt).names().lives({0, 0}));
  });
}

}  // namespace
}  // namespace weft::coll
