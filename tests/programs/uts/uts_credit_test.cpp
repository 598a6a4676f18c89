#include "uts/credit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using namespace weft_uts;

TEST(credit_sum, is_one_when_the_last_part_is_back_and_not_before) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::minstd_rand random{seed};
    std::vector<credit_power> parts{0};
    for (int i = 0; i < 1000; ++i) {
      // The oldest more often than others, so that some parts are far too small for a number of 64 bits.
      credit_power& split = parts[random() % 2 == 0 ? 0 : random() % parts.size()];
      const credit_power half = ++split;
      parts.push_back(half);
    }
    EXPECT_GT(*std::ranges::max_element(parts), 400) << "seed " << seed;
    std::ranges::shuffle(parts, random);
    credit_sum back;
    for (const credit_power part : parts) {
      ASSERT_FALSE(back.is_one()) << "seed " << seed;
      back.add(part);
    }
    EXPECT_TRUE(back.is_one()) << "seed " << seed;
  }
}

TEST(credit_sum, refuses_what_nobody_can_have) {
  credit_sum back;
  EXPECT_THROW(back.add(~credit_power{0}), std::runtime_error);
  back.add(1);
  back.add(1);
  EXPECT_TRUE(back.is_one());
  EXPECT_THROW(back.add(0), std::runtime_error);
}

}  // namespace
