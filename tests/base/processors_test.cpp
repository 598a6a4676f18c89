// SPDX-License-Identifier: BSD-3-Clause
// Sets of processors, the system's lists of them, and the parts that ranks take.
#include "base/processors.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace weft::base {
namespace {

std::string read_and_written(const std::string& list) { return read_processor_list(list).to_text(); }

TEST(processors, are_read_and_written_as_the_system_writes_them) {
  EXPECT_EQ(read_and_written("0"), "0");
  EXPECT_EQ(read_and_written("0-3,8,10-11"), "0-3,8,10-11");
  EXPECT_EQ(read_and_written("3,1,2"), "1-3");
  EXPECT_EQ(read_and_written("1023"), "1023");
  EXPECT_EQ(read_and_written("0-1023"), "0-1023");
  EXPECT_EQ(read_processor_list("0-1023").count(), processor_set::size);
}

TEST(processors, of_a_list_that_is_none_are_those_before_the_mistake) {
  EXPECT_EQ(read_and_written(""), "none");
  EXPECT_EQ(read_and_written("x"), "none");
  EXPECT_EQ(read_and_written("1,"), "1");
  EXPECT_EQ(read_and_written("1,x,2"), "1");
  EXPECT_EQ(read_and_written("4-"), "none");
  EXPECT_EQ(read_and_written("5-2"), "none");
  EXPECT_EQ(read_and_written("1024"), "none");
  EXPECT_EQ(read_and_written("1000-4294967295"), "1000-1023");
  EXPECT_EQ(read_and_written("99999999999999999999"), "none");
}

TEST(processors, of_two_sets_meet_where_both_have_one) {
  const processor_set low = read_processor_list("0-63");
  const processor_set high = read_processor_list("64-127");
  EXPECT_FALSE(low.meets(high));
  EXPECT_TRUE(low.meets(read_processor_list("63,64")));
  EXPECT_FALSE(low.meets({}));
  EXPECT_FALSE(low.has(64));
  EXPECT_FALSE(low.has(~0U));
}

TEST(processors, are_shared_by_whole_cores_that_are_neighbours) {
  std::vector<processor_set> cores;
  for (const char* each : {"0,8", "1,9", "2,10", "3,11", "4,12"}) cores.push_back(read_processor_list(each));
  EXPECT_EQ(part_of(cores, 0, 2).to_text(), "0-1,8-9");
  EXPECT_EQ(part_of(cores, 1, 2).to_text(), "2-4,10-12");
  for (std::size_t parts = 1; parts <= cores.size(); ++parts) {
    processor_set all;
    for (std::size_t i = 0; i < parts; ++i) {
      const processor_set part = part_of(cores, i, parts);
      EXPECT_GE(part.count(), 2U);
      EXPECT_FALSE(part.meets(all));
      all.add(part);
    }
    EXPECT_EQ(all.to_text(), "0-4,8-12");
  }
  EXPECT_EQ(part_of(cores, 0, 6), processor_set{});
  EXPECT_EQ(part_of(cores, 2, 2), processor_set{});
  EXPECT_EQ(part_of({}, 0, 0), processor_set{});
}

TEST(processors, of_this_thread_are_all_in_its_cores_and_may_be_fewer) {
  std::thread{[] {
    const processor_set before = processors_of_this_thread();
    ASSERT_GE(before.count(), 1U);
    processor_set in_cores;
    for (const processor_set& core : cores_within(before)) {
      EXPECT_FALSE(core.meets(in_cores));
      in_cores.add(core);
    }
    EXPECT_EQ(in_cores, before);
    const processor_set one = cores_within(before).front();
    ASSERT_TRUE(keep_this_thread_on(one));
    EXPECT_EQ(processors_of_this_thread(), one);
    EXPECT_FALSE(keep_this_thread_on({}));
    EXPECT_EQ(processors_of_this_thread(), one);
  }}.join();
}

}  // namespace
}  // namespace weft::base
