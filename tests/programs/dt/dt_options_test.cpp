// SPDX-License-Identifier: BSD-3-Clause
#include "dt/options.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace {

using namespace weft_dt;

command_line parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "weft-dt");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(dt_options, graph_and_class_have_the_names_of_the_benchmark) {
  for (const char* kind : {"BH", "WH", "SH"}) {
    for (const char* size : {"S", "W", "A", "B"}) {
      const command_line line = parse({kind, size});
      ASSERT_LT(line.exit_code, 0) << line.text;
      EXPECT_STREQ(name_of(line.run.kind), kind);
      EXPECT_STREQ(name_of(line.run.size), size);
      EXPECT_FALSE(line.expected.has_value());
    }
  }
  for (const char* wrong : {"", "bh", "0", "1", "BH ", "S", "XH"}) {
    const command_line line = parse({wrong, "S"});
    EXPECT_EQ(line.exit_code, 2) << "'" << wrong << "'";
    EXPECT_NE(line.text.find("GRAPH"), std::string::npos) << line.text;
  }
  for (const char* wrong : {"", "s", "0", "C", "SS", "BH"}) {
    const command_line line = parse({"BH", wrong});
    EXPECT_EQ(line.exit_code, 2) << "'" << wrong << "'";
    EXPECT_NE(line.text.find("CLASS"), std::string::npos) << line.text;
  }
  EXPECT_EQ(parse({}).exit_code, 2);
  EXPECT_EQ(parse({"BH"}).exit_code, 2);
  EXPECT_EQ(parse({"BH", "S", "S"}).exit_code, 2);
}

TEST(dt_options, numbers_are_whole_and_within_bounds) {
  for (const char* option : {"--workers", "--expect"}) {
    for (const char* value : {"", " ", " 1", "1 ", "1x", "0x1", "1.0", "1e0", "nan", "-1", "18446744073709551617"}) {
      const command_line line = parse({"SH", "S", option, value});
      EXPECT_EQ(line.exit_code, 2) << option << " '" << value << "'";
      EXPECT_NE(line.text.find(option), std::string::npos) << line.text;
    }
  }
  EXPECT_EQ(parse({"SH", "S", "--workers", "0"}).exit_code, 2);
  EXPECT_EQ(parse({"SH", "S", "--expect", "7877279917"}).expected, 7877279917);
  EXPECT_EQ(parse({"SH", "S", "--expect", "0"}).expected, 0);
}

TEST(dt_options, arithmetic_alone_has_no_checksum_to_expect) {
  EXPECT_TRUE(parse({"SH", "S", "--alone"}).run.is_alone);
  EXPECT_EQ(parse({"SH", "S", "--alone", "--expect", "1"}).exit_code, 2);
}

}  // namespace
