// SPDX-License-Identifier: BSD-3-Clause
// The memory that a process may have: limits of control groups, on planted files, and those of the process itself.
// stages: release asan
#include "base/memory_limit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::base {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t none = ~std::uint64_t{0};

// A tree of files as a system shows them.
class planted {
 public:
  planted() {
    std::string pattern = (fs::temp_directory_path() / "weft-groups-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~planted() { fs::remove_all(root_); }
  planted(const planted&) = delete;
  planted& operator=(const planted&) = delete;

  planted& with(const std::string& file, const std::string& text) {
    fs::create_directories(fs::path{root_ + file}.parent_path());
    std::ofstream{root_ + file} << text << '\n';
    return *this;
  }
  [[nodiscard]] std::uint64_t limit(std::uint64_t swap_bytes = 0) const {
    return control_group_limit(root_, swap_bytes);
  }

 private:
  std::string root_;
};

const std::string unified = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
const std::string split =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory";

TEST(memory_limit, of_version_2_is_the_least_of_the_group_and_those_above_it) {
  planted files;
  files.with("/proc/self/mountinfo", unified).with("/proc/self/cgroup", "0::/batch/job.slice/step");
  EXPECT_EQ(files.limit(), none);
  files.with("/sys/fs/cgroup/batch/job.slice/step/memory.max", "max");
  EXPECT_EQ(files.limit(), none);
  files.with("/sys/fs/cgroup/batch/job.slice/memory.max", "5000");
  EXPECT_EQ(files.limit(), 5000U);
  files.with("/sys/fs/cgroup/batch/memory.max", "7000");
  EXPECT_EQ(files.limit(), 5000U);
  files.with("/sys/fs/cgroup/batch/job.slice/step/memory.max", "3000");
  EXPECT_EQ(files.limit(), 3000U);
  files.with("/sys/fs/cgroup/other/memory.max", "10");
  EXPECT_EQ(files.limit(), 3000U);
}

TEST(memory_limit, of_version_2_adds_as_much_swap_as_the_groups_allow) {
  planted files;
  files.with("/proc/self/mountinfo", unified).with("/proc/self/cgroup", "0::/job");
  files.with("/sys/fs/cgroup/job/memory.max", "5000");
  EXPECT_EQ(files.limit(100), 5100U);
  files.with("/sys/fs/cgroup/job/memory.swap.max", "max");
  EXPECT_EQ(files.limit(100), 5100U);
  files.with("/sys/fs/cgroup/job/memory.swap.max", "40");
  EXPECT_EQ(files.limit(100), 5040U);
  files.with("/sys/fs/cgroup/job/memory.max", "max");
  EXPECT_EQ(files.limit(100), none);
}

TEST(memory_limit, of_version_1_is_that_of_the_hierarchy_with_memory) {
  planted files;
  files.with("/proc/self/mountinfo", split).with("/proc/self/cgroup", "4:memory:/api/1\n1:cpu:/x\n0::/");
  EXPECT_EQ(files.limit(), none);
  files.with("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  files.with("/sys/fs/cgroup/memory/api/1/memory.limit_in_bytes", "6000");
  EXPECT_EQ(files.limit(), 6000U);
  EXPECT_EQ(files.limit(100), 6100U);
  files.with("/sys/fs/cgroup/memory/api/1/memory.memsw.limit_in_bytes", "6050");
  EXPECT_EQ(files.limit(100), 6050U);
  files.with("/sys/fs/cgroup/memory/api/memory.limit_in_bytes", "4000");
  EXPECT_EQ(files.limit(100), 4100U);
}

TEST(memory_limit, is_seen_in_a_container_that_shows_its_own_part_of_the_tree) {
  planted files;
  files.with("/proc/self/mountinfo", "35 31 0:32 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory");
  files.with("/proc/self/cgroup", "4:memory:/docker/ab/inner");
  files.with("/sys/fs/cgroup/memory/memory.limit_in_bytes", "8000");
  EXPECT_EQ(files.limit(), 8000U);
  files.with("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "7000");
  EXPECT_EQ(files.limit(), 7000U);
  files.with("/proc/self/cgroup", "4:memory:/somewhere/else");
  EXPECT_EQ(files.limit(), 8000U);
  files.with("/proc/self/cgroup", "4:memory:/../../etc");
  EXPECT_EQ(files.limit(), 8000U);
}

TEST(memory_limit, is_none_where_the_files_are_missing_or_are_not_understood) {
  planted files;
  EXPECT_EQ(files.limit(), none);
  files.with("/proc/self/mountinfo", "1 2\n\n- - -\nx");
  files.with("/proc/self/cgroup", "no colon\n0:\n::");
  EXPECT_EQ(files.limit(), none);
  files.with("/proc/self/mountinfo", unified).with("/proc/self/cgroup", "0::/job");
  for (const char* text : {"", "-5", "12x", "99999999999999999999999", "twelve"}) {
    files.with("/sys/fs/cgroup/job/memory.max", text);
    EXPECT_EQ(files.limit(100), none) << text;
  }
}

TEST(memory_limit, of_a_process_is_at_most_what_it_limits_itself_to) {
  const std::uint64_t before = memory_limit();
  ASSERT_GT(before, std::uint64_t{1} << 20);
  rlimit own{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &own), 0);
  const rlimit less{before / 2, own.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &less), 0);
  EXPECT_EQ(memory_limit(), before / 2);
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &own), 0);
  EXPECT_EQ(memory_limit(), before);
}

}  // namespace
}  // namespace weft::base
