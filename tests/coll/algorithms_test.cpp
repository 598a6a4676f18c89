// SPDX-License-Identifier: BSD-3-Clause
// Each algorithm, against a sequential oracle: 1 to 17 ranks, all roots, sizes around a cell, a packet and an odd
// number; algorithms on two levels with nodes of 2 to 4 ranks.
#include <gtest/gtest.h>

#include <random>

#include "coll/algorithms/table.hpp"
#include "coll/bytes.hpp"
#include "coll/schedule/counts.hpp"
#include "coll/some_nodes.hpp"
#include "support/random_seed.hpp"

namespace weft::coll {
namespace {

class coll_algorithms : public testing::TestWithParam<algorithm> {};

std::string name_of_case(const testing::TestParamInfo<algorithm>& info) {
  std::string out{name_of(info.param.operation)};
  out += '_';
  for (const char each : info.param.name) out += each == '-' ? '_' : each;
  return out;
}

TEST_P(coll_algorithms, give_what_the_oracle_gives) {
  constexpr std::uint32_t most = weft::test::under_sanitizer ? 7 : 17;
  std::mt19937 random{1};
  for (std::uint32_t size = 1; size <= most; ++size) {
    const node_map nodes = test::nodes_of(size, 2 + size % 3);
    for (std::uint32_t root = 0; root<size; root += size> 9 ? 5 : 1) {
      for (const std::uint64_t elements : {0, 1, 3, 64}) {
        for (const bool commutes : {true, false}) {
          const collective_args of{.operation = GetParam().operation,
                                   .size = size,
                                   .root = root,
                                   .block_bytes = elements * 8,
                                   .element_bytes = 8,
                                   .is_commutative = commutes,
                                   .nodes = &nodes};
          if (!GetParam().can(of)) continue;
          EXPECT_EQ(test::check(GetParam(), of, random), "")
              << size << " ranks, root " << root << ", " << elements << " elements, commutative: " << commutes;
        }
      }
    }
  }
}

TEST_P(coll_algorithms, fit_together_at_every_size) {
  for (const std::uint32_t size : {2U, 3U, 8U, 31U, 64U, 100U}) {
    const node_map nodes = test::nodes_of(size, 5);
    const collective_args of{
        .operation = GetParam().operation, .size = size, .block_bytes = 256, .element_bytes = 8, .nodes = &nodes};
    if (!GetParam().can(of)) continue;
    EXPECT_EQ(count(GetParam(), of).wrong, "") << size;
  }
}

INSTANTIATE_TEST_SUITE_P(all, coll_algorithms, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         name_of_case);

}  // namespace
}  // namespace weft::coll
