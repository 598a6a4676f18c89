// SPDX-License-Identifier: BSD-3-Clause
// Guard pages leave the process mappings for all else.
// stages: release asan
#include "fiber/stacks.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace weft::fibers {
namespace {

std::uint64_t mappings() {
  std::ifstream file{"/proc/self/maps"};
  std::uint64_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

std::uint64_t mappings_max() {
  std::ifstream file{"/proc/sys/vm/max_map_count"};
  std::uint64_t out = 0;
  file >> out;
  return out;
}

TEST(fiber_stacks, of_all_workers_together_have_guard_pages_for_a_quarter_of_the_mappings) {
  const std::uint64_t most = mappings_max();
  if (most == 0 || most > 300'000) GTEST_SKIP() << "it would take too many stacks to reach the limit";
  const std::uint64_t before = mappings();
  constexpr std::uint32_t each_has = 1024;
  std::uint64_t guards = 0;
  {
    std::vector<std::unique_ptr<stacks>> all;
    while (all.size() * each_has * 2 < most + 2 * each_has) {
      stacks& next = *all.emplace_back(std::make_unique<stacks>(std::size_t{16384}, each_has));
      for (std::uint32_t slot = 0; slot < each_has; ++slot) ASSERT_NE(next.make(slot).top, nullptr) << guards;
      guards += next.guards();
    }
    EXPECT_LE(guards * 2, most / 4);
    EXPECT_GE(guards * 2, most / 4 - 2);
    EXPECT_LE(mappings(), before + most / 4 + 4 * all.size());
    EXPECT_EQ(all.back()->guards(), 0U);
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(page, MAP_FAILED);
    if (page != MAP_FAILED) ::munmap(page, 4096);
  }
  // All have been returned.
  stacks again{16384, each_has};
  for (std::uint32_t slot = 0; slot < each_has; ++slot) ASSERT_NE(again.make(slot).top, nullptr);
  EXPECT_EQ(again.guards(), each_has);
}

}  // namespace
}  // namespace weft::fibers
