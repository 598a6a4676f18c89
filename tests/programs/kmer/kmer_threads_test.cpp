// SPDX-License-Identifier: BSD-3-Clause
// How many threads a rank has unless the user says it.
#include <sched.h>

#include "kmer/processor_limits.hpp"
#include "programs/kmer_files.hpp"

namespace {

using namespace weft_kmer;
using namespace weft_kmer::test;

using limits = processor_limits;

unsigned threads(const std::vector<limits>& by_rank) {
  std::vector<limits> sent;
  for (const limits& each : by_rank) sent.push_back(limits_in(to_text(each)));
  return threads_of_each(sent);
}

TEST(kmer_threads, processors_are_shared_by_the_ranks_that_may_use_them) {
  const limits all{"a", {0, 1, 2, 3, 4, 5, 6, 7}, {}};
  EXPECT_EQ(threads({all}), 8U);
  EXPECT_EQ(threads({all, all}), 4U);
  EXPECT_EQ(threads({all, all, all}), 2U);
  EXPECT_EQ(threads(std::vector<limits>(20, all)), 1U);
  // Bound ones have all of theirs.
  EXPECT_EQ(threads({{"a", {0, 1, 2, 3}, {}}, {"a", {4, 5, 6, 7}, {}}}), 4U);
  EXPECT_EQ(threads({{"a", {0}, {}}, {"a", {4, 5, 6, 7}, {}}}), 1U);
  // Three on three processors: each has a third of each.
  EXPECT_EQ(threads(std::vector<limits>(3, {"a", {0, 1, 2}, {}})), 1U);
  EXPECT_EQ(threads(std::vector<limits>(3, {"a", {3, 70, 1500, 1501, 1502, 1503}, {}})), 2U);
  // Another machine has processors of its own; the ranks have the number of the poorest.
  const limits other{"b", {0, 1, 2, 3}, {}};
  EXPECT_EQ(threads({all, other}), 4U);
  EXPECT_EQ(threads({all, other, other}), 2U);
  EXPECT_EQ(threads({{"", {0, 1}, {}}}), 2U);
  EXPECT_EQ(threads({{"a", {}, {}}}), 1U);
}

TEST(kmer_threads, a_quota_is_shared_by_the_ranks_of_its_group) {
  const std::vector<std::uint32_t> eight{0, 1, 2, 3, 4, 5, 6, 7};
  const auto in = [&](std::uint64_t group, double processors) { return limits{"a", eight, {{5, group, processors}}}; };
  EXPECT_EQ(threads({in(1, 2.5)}), 2U);
  EXPECT_EQ(threads({in(1, 0.2)}), 1U);
  EXPECT_EQ(threads({in(1, 100)}), 8U);
  EXPECT_EQ(threads({in(1, 4), in(1, 4)}), 2U);
  EXPECT_EQ(threads({in(1, 3), in(2, 3)}), 3U);
  EXPECT_EQ(threads({{"a", eight, {{5, 1, 6}, {5, 2, 4}}}, {"a", eight, {{5, 3, 6}, {5, 2, 4}}}}), 2U);
}

TEST(kmer_threads, the_affinity_of_a_thread_is_its_limit) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &before)) last = i;
  }
  CPU_SET(last, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(find_processor_limits().processors, std::vector<std::uint32_t>{last});
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

class kmer_quota : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path{directory_ / path}.parent_path());
    (void)directory_.write(path, content);
  }
  std::vector<double> quotas() const {
    std::vector<double> out;
    for (const auto& quota : find_quotas(directory_ / "")) out.push_back(quota.processors);
    return out;
  }

  scratch_directory directory_;
};

TEST_F(kmer_quota, of_version_2_is_that_of_the_group_and_of_all_above) {
  write("proc/self/mountinfo",
        "22 1 0:20 / /sys rw - sysfs sysfs rw\n"
        "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  write("proc/self/cgroup", "0::/jobs/mine\n");
  write("sys/fs/cgroup/jobs/mine/cpu.max", "150000 100000\n");
  EXPECT_EQ(quotas(), std::vector<double>{1.5});
  write("sys/fs/cgroup/jobs/cpu.max", "400000 100000\n");
  EXPECT_EQ(quotas(), (std::vector<double>{1.5, 4}));
  write("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
  EXPECT_EQ(quotas(), std::vector<double>{4});
}

TEST_F(kmer_quota, of_version_1_is_in_the_hierarchy_with_the_controller) {
  write("proc/self/mountinfo",
        "31 22 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "32 22 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  write("proc/self/cgroup", "9:cpuset:/other\n4:cpu,cpuacct:/jobs\n0::/\n");
  write("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "300000\n");
  write("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quotas(), std::vector<double>{3});
  write("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quotas(), std::vector<double>{});
}

TEST_F(kmer_quota, of_a_container_is_that_of_what_it_sees) {
  write("proc/self/mountinfo", "29 22 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  for (const char* group : {"0::/docker/abc\n", "0::/\n", "0::/../..\n", "0::/docker/abc/not/there\n"}) {
    write("proc/self/cgroup", group);
    EXPECT_EQ(quotas(), std::vector<double>{2}) << group;
  }
  write("proc/self/cgroup", "");
  EXPECT_EQ(quotas(), std::vector<double>{});
}

}  // namespace
