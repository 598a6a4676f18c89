// SPDX-License-Identifier: BSD-3-Clause
// The bytes that all operations, receives and waiting messages of a rank may have, from its settings.
// stages: release asan
#include "core/runtime/state_bounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/memory_limit.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

using ::testing::HasSubstr;

base::settings with_bytes(std::size_t bytes) {
  base::settings out;
  out.state_bytes_max = bytes;
  return out;
}

TEST(state_bounds, are_a_quarter_of_what_the_process_may_have) {
  const state_bounds bounds = state_bounds_of({});
  EXPECT_EQ(bounds.bytes_max, base::memory_limit() / 4);
  for (const pool_bounds& each : {bounds.posts, bounds.receives, bounds.unexpected}) {
    EXPECT_EQ(each.at_first, pool_elements_at_first);
    EXPECT_GT(each.most, std::uint32_t{1} << 17);  // on a machine of a gigabyte
    EXPECT_LE(each.most, pool_elements_most);
  }
}

TEST(state_bounds, leave_a_count_that_is_set_as_it_is) {
  base::settings chosen = with_bytes(std::size_t{1} << 30);
  chosen.operations_max = 7;
  chosen.receives_max = 256;
  chosen.devices_max = 3;
  chosen.unexpected_sends_max = 1;
  const state_bounds bounds = state_bounds_of(chosen);
  EXPECT_EQ(bounds.bytes_max, std::uint64_t{1} << 30);
  EXPECT_EQ(bounds.posts.at_first, 7U);
  EXPECT_EQ(bounds.posts.most, 7U);
  EXPECT_EQ(bounds.receives.most, 256U + 2 * 2);  // and what two devices keep for themselves
  EXPECT_EQ(bounds.receives.at_first, bounds.receives.most);
  EXPECT_EQ(bounds.unexpected.most, 1U);
}

TEST(state_bounds, that_are_too_small_for_a_rank_are_refused_with_the_least) {
  std::string least;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100'000}}) {
    try {
      static_cast<void>(state_bounds_of(with_bytes(bytes)));
      FAIL() << bytes;
    } catch (const error& refusal) {
      EXPECT_EQ(refusal.code(), errc::configuration);
      const std::string text = refusal.what();
      EXPECT_THAT(text, HasSubstr("WEFT_STATE_BYTES_MAX=" + std::to_string(bytes)));
      EXPECT_EQ(text.find("WEFT_RECEIVES_MAX"), text.npos);
      least = text.substr(text.find("less than the ") + 14);
    }
  }
  const std::size_t needed = std::stoul(least);
  EXPECT_EQ(state_bounds_of(with_bytes(needed)).bytes_max, needed);
  EXPECT_THROW(static_cast<void>(state_bounds_of(with_bytes(needed - 1))), error);
}

TEST(state_bounds, contradict_counts_that_need_more) {
  base::settings chosen = with_bytes(std::size_t{10} << 20);
  chosen.receives_max = 1'000'000;
  try {
    static_cast<void>(state_bounds_of(chosen));
    FAIL();
  } catch (const error& refusal) {
    EXPECT_EQ(refusal.code(), errc::configuration);
    EXPECT_THAT(refusal.what(), HasSubstr("WEFT_RECEIVES_MAX"));
  }
  chosen.state_bytes_max.reset();  // then there is room for them in any case
  EXPECT_GE(state_bounds_of(chosen).bytes_max, 384'000'000U);
}

}  // namespace
}  // namespace weft::core
