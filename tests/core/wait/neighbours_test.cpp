// SPDX-License-Identifier: BSD-3-Clause
// What a runtime makes of the ranks that share its processors.
#include <gtest/gtest.h>

#include "core/runtime/runtime_state.hpp"
#include "weft/test/local_job.hpp"

namespace {

using namespace weft;

// Ranks that are threads of one process may run on one processor. Whether threads yield to them follows from that.
TEST(neighbours, that_share_processors_make_waiting_threads_yield) {
  test::local_job{2}.run([](runtime& rt) {
    core::runtime_state& state = test::local_job::state_of(rt);
    EXPECT_TRUE(state.transports().neighbours().has_company());
    EXPECT_TRUE(state.parking().expects_company());
  });
}

TEST(neighbours, are_not_expected_by_a_rank_that_is_alone) {
  test::local_job{1}.run([](runtime& rt) {
    core::runtime_state& state = test::local_job::state_of(rt);
    EXPECT_FALSE(state.transports().neighbours().has_company());
    EXPECT_FALSE(state.parking().expects_company());
  });
}

}  // namespace
