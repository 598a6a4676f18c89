// SPDX-License-Identifier: BSD-3-Clause
#include "hpccg/solve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include <weft/test/local_job.hpp>

#include "hpccg/check.hpp"

namespace {

using namespace weft_hpccg;

// All ranks have one result.
solve_result solve_by(std::uint32_t ranks, std::uint32_t workers, const box& of_each) {
  std::mutex guard;
  std::optional<solve_result> found;
  weft::test::local_job{ranks}.run([&](weft::runtime& rt) {
    std::uint32_t told = 0;
    const solve_result mine =
        solve(rt, {.cells = of_each, .workers = workers}, [&](std::uint32_t done) { EXPECT_EQ(done, ++told); });
    EXPECT_EQ(told, mine.iterations());
    const std::scoped_lock lock{guard};
    if (!found) found = mine;
    EXPECT_EQ(mine.residuals, found->residuals) << "rank " << rt.rank();
    EXPECT_EQ(mine.error, found->error) << "rank " << rt.rank();
    EXPECT_EQ(mine.seconds, found->seconds) << "rank " << rt.rank();
  });
  return *found;
}

// The known ones of the whole box.
void check_known(std::uint32_t ranks, std::uint32_t workers, const box& of_each, std::size_t known_count) {
  SCOPED_TRACE(testing::Message() << ranks << " ranks, " << workers << " workers");
  const auto known = known_residuals(of_each, ranks);
  EXPECT_EQ(known.size(), known_count);
  EXPECT_EQ(find_wrong(solve_by(ranks, workers, of_each), known), "");
}

// The residuals of one rank and one worker, which others of as many cells have to have, and the solution.
void check_same(const solve_result& one, std::uint32_t ranks, std::uint32_t workers, const box& of_each) {
  SCOPED_TRACE(testing::Message() << ranks << " ranks, " << workers << " workers, " << of_each.nz << " planes each");
  const solve_result found = solve_by(ranks, workers, of_each);
  EXPECT_EQ(find_wrong(found, {}), "");
  for (std::size_t i = 0; i < one.residuals.size() && one.residuals[i] > 1e-10 * one.residuals[0]; ++i) {
    ASSERT_LT(i, found.residuals.size());
    EXPECT_NEAR(found.residuals[i] / one.residuals[i], 1, 1e-4) << i;
  }
}

TEST(hpccg_solve, ten_cells_a_side_have_the_known_residuals) {
  for (const std::uint32_t ranks : {1U, 2U, 5U}) {
    for (std::uint32_t workers = 1; workers <= 4; ++workers) check_known(ranks, workers, {10, 10, 10 / ranks}, 2);
  }
}

TEST(hpccg_solve, sides_of_different_lengths_have_the_known_residuals) {
  for (const std::uint32_t ranks : {1U, 2U, 5U}) check_known(ranks, ranks == 2 ? 3 : 1, {20, 30, 10 / ranks}, 3);
}

TEST(hpccg_solve, thirty_two_cells_a_side_have_the_known_residuals) {
  for (const std::uint32_t ranks : {1U, 4U, 8U}) check_known(ranks, 2, {32, 32, 32 / ranks}, 4);
}

TEST(hpccg_solve, one_to_eight_ranks_find_what_one_finds) {
  for (std::uint32_t ranks = 2; ranks <= 8; ++ranks) {
    const solve_result one = solve_by(1, 1, {5, 4, 3 * ranks});
    for (const std::uint32_t workers : {1U, 2U, 4U}) check_same(one, ranks, workers, {5, 4, 3});
  }
}

TEST(hpccg_solve, a_rank_may_have_one_plane_or_two_and_workers_a_part_of_one) {
  const solve_result one = solve_by(1, 1, {3, 3, 12});
  for (const std::uint32_t workers : {1U, 3U, 4U}) {
    check_same(one, 6, workers, {3, 3, 2});
    check_same(one, 3, workers, {3, 3, 4});
  }
  check_same(one, 1, 20, {3, 3, 12});
  check_same(solve_by(1, 1, {3, 3, 6}), 6, 2, {3, 3, 1});
}

TEST(hpccg_solve, workers_without_rows_take_part) {
  check_same(solve_by(1, 1, {1, 1, 4}), 4, 3, {1, 1, 1});
  check_same(solve_by(1, 1, {2, 1, 3}), 3, 4, {2, 1, 1});
}

TEST(hpccg_solve, ends_when_nothing_is_left_of_the_residual) {
  const solve_result found = solve_by(1, 1, {1, 1, 1});
  EXPECT_LT(found.iterations(), iterations_max);
  EXPECT_EQ(found.residuals.front(), 27);
  EXPECT_EQ(find_wrong(found, {}), "");
}

TEST(hpccg_solve, is_the_same_to_the_last_bit_from_run_to_run) {
  const solve_result first = solve_by(3, 2, {6, 5, 4});
  for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(solve_by(3, 2, {6, 5, 4}).residuals, first.residuals);
}

TEST(hpccg_check, says_how_far_off_a_result_is) {
  solve_result found;
  found.residuals = {258.24, 10, 0};
  EXPECT_EQ(find_wrong(found, {{1, 258.24}, {2, 10.0009}}), "");
  const std::string far = find_wrong(found, {{1, 258.24}, {2, 10.1}});
  EXPECT_EQ(far, "the residual of iteration 2 is 10, expected is 10.1: relative error 0.0099, 0.0001 is allowed");
  EXPECT_NE(find_wrong(found, {{3, 1e-9}}), "");
  EXPECT_NE(find_wrong(found, {{4, 1e-9}}).find("no iteration 4"), std::string::npos);
  found.error = 1e-10;
  EXPECT_EQ(find_wrong(found, {}), "");
  found.error = 3e-10;
  EXPECT_EQ(find_wrong(found, {}), "the solution is off by 3e-10, 1e-10 is allowed");
  for (const double none : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    found.error = none;
    EXPECT_NE(find_wrong(found, {}), "");
    found.error = 0;
    found.residuals[1] = none;
    EXPECT_NE(find_wrong(found, {{2, 10}}), "");
  }
}

TEST(hpccg_check, sizes_are_known_for_all_ranks_together) {
  EXPECT_EQ(known_residuals({64, 64, 8}, 8).size(), 5U);
  EXPECT_EQ(known_residuals({64, 64, 64}, 1).size(), 5U);
  EXPECT_TRUE(known_residuals({64, 64, 64}, 2).empty());
  EXPECT_TRUE(known_residuals({30, 20, 10}, 1).empty());
}

TEST(hpccg_check, other_arguments_are_found_at_each_rank) {
  weft::test::local_job{4}.run([](weft::runtime& rt) {
    EXPECT_EQ(find_other_arguments(rt, {}, -1), std::nullopt);
    EXPECT_EQ(find_other_arguments(rt, {.cells = {}, .workers = rt.rank() >= 2 ? 3U : 1U}, -1), 2U);
    EXPECT_EQ(find_other_arguments(rt, {}, rt.rank() == 3 ? 2 : -1), 3U);
    EXPECT_EQ(find_other_arguments(rt, {.cells = {1, 1, rt.rank() == 0 ? 2U : 1U}}, -1), 1U);
  });
}

}  // namespace
