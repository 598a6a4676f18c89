// SPDX-License-Identifier: BSD-3-Clause
#include "hpccg/options.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace weft_hpccg;

command_line parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "weft-hpccg");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(hpccg_options, sides_are_whole_numbers_and_all_three_are_given) {
  const command_line line = parse({"20", "30", "10"});
  ASSERT_LT(line.exit_code, 0) << line.text;
  EXPECT_EQ(line.solve.cells.nx, 20U);
  EXPECT_EQ(line.solve.cells.ny, 30U);
  EXPECT_EQ(line.solve.cells.nz, 10U);
  EXPECT_EQ(line.solve.workers, 1U);
  EXPECT_FALSE(line.expected.has_value());
  for (const char* wrong : {"", "0", "-1", " 1", "1.0", "1e3", "0x1", "nan", "1048577", "18446744073709551617"}) {
    EXPECT_EQ(parse({wrong, "1", "1"}).exit_code, 2) << "'" << wrong << "'";
    EXPECT_EQ(parse({"1", "1", wrong}).exit_code, 2) << "'" << wrong << "'";
  }
  EXPECT_EQ(parse({}).exit_code, 2);
  EXPECT_EQ(parse({"1", "1"}).exit_code, 2);
  EXPECT_EQ(parse({"1", "1", "1", "1"}).exit_code, 2);
}

TEST(hpccg_options, a_rank_has_no_more_cells_than_the_matrix_can_number) {
  EXPECT_LT(parse({"1024", "1024", "4093"}).exit_code, 0);
  const command_line line = parse({"1024", "1024", "4094"});
  EXPECT_EQ(line.exit_code, 2);
  EXPECT_NE(line.text.find("NX NY NZ"), std::string::npos) << line.text;
}

TEST(hpccg_options, an_expected_residual_has_its_iteration) {
  const command_line line = parse({"1", "1", "1", "--expect", "2.5e-3", "--expect-at", "15"});
  ASSERT_LT(line.exit_code, 0) << line.text;
  ASSERT_TRUE(line.expected.has_value());
  EXPECT_EQ(line.expected->iteration, 15U);
  EXPECT_EQ(line.expected->value, 2.5e-3);
  EXPECT_EQ(parse({"1", "1", "1", "--expect", "1"}).exit_code, 2);
  EXPECT_EQ(parse({"1", "1", "1", "--expect-at", "1"}).exit_code, 2);
  for (const char* wrong : {"0", "150", "1.5", ""}) {
    EXPECT_EQ(parse({"1", "1", "1", "--expect", "1", "--expect-at", wrong}).exit_code, 2) << wrong;
  }
  for (const char* wrong : {"0", "-1", "nan", "inf", ""}) {
    EXPECT_EQ(parse({"1", "1", "1", "--expect", wrong, "--expect-at", "1"}).exit_code, 2) << wrong;
  }
  for (const char* wrong : {"0", "1025", "", "nan"}) {
    EXPECT_EQ(parse({"1", "1", "1", "--workers", wrong}).exit_code, 2) << wrong;
  }
}

}  // namespace
