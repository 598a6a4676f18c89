// SPDX-License-Identifier: BSD-3-Clause
// Sets of processors, the system's lists of them, and the parts that ranks take.
#include "base/processors.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace weft::base {
namespace {

// Of the kernel that this thread believes in; 0: the real one.
thread_local std::uint32_t kernel_processors = 0;  // of the thread

std::string read_and_written(const std::string& list) { return read_processor_list(list).to_text(); }

TEST(processors, are_read_and_written_as_the_system_writes_them) {
  EXPECT_EQ(read_and_written("0"), "0");
  EXPECT_EQ(read_and_written("0-3,8,10-11"), "0-3,8,10-11");
  EXPECT_EQ(read_and_written("3,1,2"), "1-3");
  EXPECT_EQ(read_and_written("8191"), "8191");
  EXPECT_EQ(read_and_written("0-8191"), "0-8191");
  EXPECT_EQ(read_processor_list("0-8191").count(), processor_set::size);
}

TEST(processors, of_a_list_that_is_none_are_those_before_the_mistake) {
  EXPECT_EQ(read_and_written(""), "none");
  EXPECT_EQ(read_and_written("x"), "none");
  EXPECT_EQ(read_and_written("1,"), "1");
  EXPECT_EQ(read_and_written("1,x,2"), "1");
  EXPECT_EQ(read_and_written("4-"), "none");
  EXPECT_EQ(read_and_written("5-2"), "none");
  EXPECT_EQ(read_and_written("8192"), "none");
  EXPECT_EQ(read_and_written("8000-4294967295"), "8000-8191");
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

TEST(processors, beyond_those_of_one_cpu_set_are_counted) {
  kernel_processors = 5000;
  const processor_set all = processors_of_this_thread();
  kernel_processors = 0;
  EXPECT_EQ(all.to_text(), "0-4999");
  EXPECT_EQ(all.count(), 5000U);
  EXPECT_TRUE(all.meets(read_processor_list("4999")));
  EXPECT_FALSE(all.meets(read_processor_list("5000")));
  EXPECT_NE(all, read_processor_list("0-4998"));
}

}  // namespace
}  // namespace weft::base

// As the kernel of a machine with so many processors: it refuses a smaller set. In place of glibc's in this executable.
extern "C" int sched_getaffinity(pid_t process, std::size_t bytes, cpu_set_t* out) noexcept {
  const std::uint32_t processors = weft::base::kernel_processors;
  if (processors == 0) {
    std::memset(out, 0, bytes);
    return ::syscall(SYS_sched_getaffinity, process, bytes, out) < 0 ? -1 : 0;
  }
  if (8 * bytes < processors) {
    errno = EINVAL;
    return -1;
  }
  CPU_ZERO_S(bytes, out);
  for (std::uint32_t each = 0; each < processors; ++each) CPU_SET_S(each, bytes, out);
  return 0;
}
