// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <vector>

#include "uts/options.hpp"

namespace {

using namespace weft_uts;

command_line parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "weft-uts");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(uts_options, whole_numbers_are_decimal_and_nothing_else) {
  for (const char* option : {"-t", "-a", "-r", "-d", "-m", "--workers", "--fibers", "--chunk", "--nodes-max"}) {
    for (const char* value : {"", " ", " 1", "1 ", "1x", "0x1", "1.0", "1e0", "nan", "inf", "-1", " -1", "4294967296x",
                              "18446744073709551617", "-18446744073709551615"}) {
      const command_line line = parse({option, value});
      EXPECT_EQ(line.exit_code, 2) << option << " '" << value << "'";
      EXPECT_NE(line.text.find(option), std::string::npos) << line.text;
    }
  }
  EXPECT_EQ(parse({"-d", "010"}).search.tree.depth, 10U);
}

TEST(uts_options, other_numbers_are_finite_and_within_bounds) {
  for (const char* option : {"-b", "-q", "-f"}) {
    for (const char* value : {"", " ", " 0.5", "0.5 ", "0.5x", "0x1p-1", "nan", "-nan", "inf", "-inf", "NaN",
                              "Infinity", "-0.5", "1e400", "1e7", "1,5"}) {
      const command_line line = parse({option, value});
      EXPECT_EQ(line.exit_code, 2) << option << " '" << value << "'";
      EXPECT_NE(line.text.find(option), std::string::npos) << line.text;
    }
    EXPECT_LT(parse({option, "0.5"}).exit_code, 0) << option;
    EXPECT_LT(parse({option, "5e-1"}).exit_code, 0) << option;
  }
}

TEST(uts_options, a_tree_that_has_no_expected_end_needs_a_bound) {
  const std::vector<std::vector<const char*>> endless{
      {"-t", "0", "-q", "0.25", "-m", "4"},             // one child for each node
      {"-t", "0", "-q", "0.5", "-m", "3"},              //
      {"-t", "0", "-q", "1", "-m", "1"},                //
      {"-t", "0", "-q", "0.200014", "-m", "5"},         // T3L is known, other seeds are not
      {"-t", "2", "-q", "0.9", "-m", "4"},              //
      {"-t", "1", "-a", "1", "-b", "0.9", "-d", "3"},   // branches more and more
      {"-t", "1", "-a", "1", "-b", "1", "-d", "3"},     //
      {"-t", "1", "-a", "1", "-b", "1", "-d", "1"},     //
      {"-t", "1", "-a", "3", "-b", "4", "-d", "1000"},  // ends after some 10^600 nodes
      {"-t", "1", "-a", "0", "-b", "1e6", "-d", "1048576"},
      {"-t", "1", "-a", "1", "-b", "1.0000000000001", "-d", "2"},  // branches hardly less and less
  };
  for (std::vector<const char*> arguments : endless) {
    const command_line line = parse(arguments);
    EXPECT_EQ(line.exit_code, 2) << arguments[1] << arguments[3] << arguments[5];
    EXPECT_NE(line.text.find("--nodes-max"), std::string::npos) << line.text;
    arguments.insert(arguments.end(), {"--nodes-max", "1000"});
    const command_line bounded = parse(arguments);
    EXPECT_LT(bounded.exit_code, 0) << bounded.text;
    EXPECT_EQ(bounded.search.nodes_max, 1000U);
  }
  const std::vector<std::vector<const char*>> ending{
      {},
      {"-t", "0", "-q", "0.2499", "-m", "4"},
      {"-t", "0", "-q", "1", "-m", "0"},
      {"-t", "0", "-b", "0", "-q", "1", "-m", "4"},  // a root without children
      {"-t", "0", "-b", "0.5", "-q", "1", "-m", "4"},
      {"-t", "1", "-q", "1", "-m", "4"},                                  // -q and -m mean nothing to it
      {"-t", "0", "-b", "2000", "-q", "0.200014", "-m", "5", "-r", "7"},  // T3L
      {"-t", "1", "-a", "3", "-d", "18", "-b", "4", "-r", "19"},          // T1WL of the benchmark
      {"-t", "1", "-a", "2", "-d", "16", "-b", "8", "-r", "559"},
      {"-t", "1", "-a", "2", "-d", "1048576", "-b", "1"},
      {"-t", "0", "-b", "2000", "-q", "0.4999995", "-m", "2", "-r", "559"},                   // T3WL
      {"-t", "2", "-a", "0", "-d", "16", "-b", "6", "-r", "1", "-q", "0.234375", "-m", "4"},  // T4
  };
  for (const std::vector<const char*>& arguments : ending) {
    const command_line line = parse(arguments);
    EXPECT_LT(line.exit_code, 0) << line.text;
  }
}

}  // namespace
