// SPDX-License-Identifier: BSD-3-Clause
// Receives of an ordered engine that leave rank or tag open: one of them is in no queue.
// stages: release general asan
#include <gtest/gtest.h>

#include <array>

#include "core/matching/ordered_matching.hpp"

namespace {

using weft::match_policy;
using weft::core::fast_posted;
using weft::core::make_match_key;
using weft::core::match_node;
using weft::core::match_result;
using weft::core::matched_messages;
using weft::core::ordered_matching;
using weft::core::ordered_message;

void describe(match_node& receive, match_policy policy, std::uint32_t source, std::uint64_t tag) {
  receive.key = make_match_key(1, policy, source, tag);
}

TEST(open_receive, waits_alone_or_with_others_in_the_order_of_the_posts) {
  for (const match_policy policy : {match_policy::rank_only, match_policy::tag_only, match_policy::none}) {
    ordered_matching engine{4};
    match_node open, named, more;
    matched_messages released, left;  // `left` stays empty: no other thread posts
    match_node* receive = nullptr;
    const auto match = [&](std::uint32_t source, std::uint64_t tag, std::uint32_t sequence) {
      return engine.try_match(make_match_key(1, match_policy::rank_tag, source, tag), sequence, receive, released);
    };
    describe(open, policy, 1, 7);
    ASSERT_EQ(engine.fast_post(open, true), fast_posted::inserted);
    const bool is_for_all = policy == match_policy::none;
    if (!is_for_all) {
      EXPECT_EQ(match(2, 8, 0), match_result::none);
    }
    EXPECT_EQ(match(1, 7, 0), match_result::matched);
    EXPECT_EQ(receive, &open);
    // A second one waits behind it, whichever comes first.
    for (const bool is_open_first : {true, false}) {
      describe(open, policy, 1, 7);
      describe(named, match_policy::rank_tag, 1, 7);
      describe(more, policy, 1, 7);
      const std::uint32_t begin = is_open_first ? 1 : 4;
      ordered_message* found = nullptr;
      const auto post = [&](match_node& each) {
        const bool is_open = each.key.policy() != match_policy::rank_tag;
        const fast_posted reached = engine.fast_post(each, is_open);
        if (reached == fast_posted::inserted) return;
        EXPECT_EQ(engine.post_rest(reached, each, found, left), match_result::inserted);
      };
      const std::array<match_node*, 3> posted = is_open_first ? std::array<match_node*, 3>{&open, &named, &more}
                                                              : std::array<match_node*, 3>{&named, &open, &more};
      for (match_node* const each : posted) post(*each);
      for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(match(1, 7, begin + i), match_result::matched);
        EXPECT_EQ(receive, posted[i]);
      }
    }
    describe(open, policy, 1, 7);
    ASSERT_EQ(engine.fast_post(open, true), fast_posted::inserted);
    EXPECT_EQ(engine.remove(open, left), match_result::removed);
    EXPECT_EQ(match(1, 7, 7), match_result::none);
  }
}

}  // namespace
