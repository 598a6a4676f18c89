// SPDX-License-Identifier: BSD-3-Clause
// A bug of Weft's own ends the process with a line that says where it was noticed.
#include "base/assertion.hpp"

#include <gtest/gtest.h>

namespace {

TEST(assertion, that_fails_says_what_and_where) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int two = 2;
  EXPECT_DEATH(WEFT_ASSERT(two == 3), "a bug in Weft: two == 3 does not hold at .*assertion_test.cpp:[0-9]+");
}

TEST(assertion, that_holds_is_evaluated_once_and_a_checked_one_where_builds_check) {
  int calls = 0;
  WEFT_ASSERT(++calls == 1);
  EXPECT_EQ(calls, 1);
  WEFT_ASSERT_CHECKED(++calls == 2);
#ifdef WEFT_CHECKED
  EXPECT_EQ(calls, 2);
#else
  EXPECT_EQ(calls, 1);
#endif
}

}  // namespace
