// SPDX-License-Identifier: BSD-3-Clause
#include "hpccg/problem.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace weft_hpccg;

TEST(hpccg_problem, a_row_has_a_value_for_each_cell_around_that_there_is) {
  const matrix alone{{4, 4, 4}, false, false};
  ASSERT_EQ(alone.rows(), 64U);
  EXPECT_EQ(alone.entries(0), 8U);              // a corner
  EXPECT_EQ(alone.entries(1), 12U);             // an edge
  EXPECT_EQ(alone.entries(4 + 1), 18U);         // a face
  EXPECT_EQ(alone.entries(16 + 4 + 1), 27U);    // within
  const matrix between{{4, 4, 4}, true, true};  // of a rank with both neighbours
  EXPECT_EQ(between.entries(0), 12U);
  EXPECT_EQ(between.entries(4 + 1), 27U);
  EXPECT_EQ((matrix{{1, 1, 1}, false, false}.entries(0)), 1U);
  EXPECT_EQ((matrix{{1, 1, 1}, true, false}.entries(0)), 2U);
}

TEST(hpccg_problem, one_everywhere_solves_it) {
  for (const bool has_below : {false, true}) {
    for (const bool has_above : {false, true}) {
      const box cells{3, 2, 5};
      const matrix of{cells, has_below, has_above};
      std::vector<double> ones(cells.cells_with_halo(), 1), image(cells.cells());
      of.multiply(ones, image, {0, cells.cells()});
      for (std::size_t row = 0; row < of.rows(); ++row) EXPECT_EQ(image[row], right_side(of, row)) << row;
    }
  }
}

TEST(hpccg_problem, a_product_reads_the_planes_of_neighbours_and_writes_its_rows_alone) {
  const box cells{2, 2, 2};
  const matrix of{cells, true, true};
  std::vector<double> in(cells.cells_with_halo()), out(cells.cells(), 5);
  for (std::size_t i = 0; i < cells.plane(); ++i) in[i] = 1;                   // below
  for (std::size_t i = 0; i < cells.plane(); ++i) in[in.size() - 1 - i] = 10;  // above
  of.multiply(in, out, {2, 7});
  EXPECT_EQ(out, (std::vector<double>{5, 5, -4, -4, -40, -40, -40, 5}));
}

}  // namespace
