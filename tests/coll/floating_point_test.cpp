// SPDX-License-Identifier: BSD-3-Clause
// Sums of floating-point numbers have the same bits in each run of an algorithm, however messages are delayed.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "coll/algorithms/table.hpp"
#include "coll/args/collective_args.hpp"
#include "support/random_seed.hpp"
#include "weft/collectives.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint32_t members = 5;
constexpr std::size_t count = 300;  // of a block

using floats = std::vector<float>;

// Of such different sizes that each order of additions rounds in another way.
floats given(std::uint32_t member, std::size_t size) {
  std::mt19937 random{member + 1};
  std::uniform_real_distribution<float> digits{-1, 1};
  floats out(size);
  for (float& each : out) each = std::ldexp(digits(random), static_cast<int>(random() % 24));
  return out;
}

bool is_tried(const coll::algorithm& which) {
  switch (which.operation) {
    case collective_operation::reduce:
    case collective_operation::allreduce:
    case collective_operation::reduce_scatter:
    case collective_operation::scan:
    case collective_operation::exscan: break;
    default: return false;
  }
  const coll::collective_args of{.operation = which.operation,
                                 .size = members,
                                 .root = 2,
                                 .block_bytes = count * sizeof(float),
                                 .element_bytes = sizeof(float)};
  return which.can(of);
}

// A rank's result.
floats run(group& all, collective_operation which, std::string_view algorithm) {
  const bool has_blocks = which == collective_operation::reduce_scatter;
  const floats in = given(all.rank(), has_blocks ? count * members : count);
  floats out(count);
  collective{{.operation = which,
              .root = which == collective_operation::reduce ? 2U : 0U,
              .input = in,
              .out = out,
              .op = reduction::callable<float>()}}
      .run(all, {.algorithm = algorithm});
  return out;
}

// Results of all ranks, by operation and algorithm; none for the algorithm that is chosen.
using results = std::map<std::pair<collective_operation, std::string>, std::vector<floats>>;

results run_all(const runtime_options& options) {
  std::vector<results> of_ranks(members);
  test::local_job{members, options}.run([&](runtime& rt) {
    group all = rt.world();
    for (const coll::algorithm& each : coll::algorithms()) {
      if (!is_tried(each)) continue;
      for (const std::string& name : {std::string{each.name}, std::string{}})
        of_ranks[rt.rank()][{each.operation, name}].push_back(run(all, each.operation, name));
    }
    collective::barrier().run(all);
  });
  results out;
  for (const results& each : of_ranks)
    for (const auto& [key, found] : each) out[key].insert(out[key].end(), found.begin(), found.end());
  return out;
}

TEST(sums_of_floating_point_numbers, are_the_same_in_each_run_of_an_algorithm) {
  const std::uint64_t seed = test::random_seed();
  const results first = run_all({.transport = "self,shm"});
  ASSERT_GE(first.size(), 12U);
  const int runs = test::under_sanitizer ? 2 : 6;
  for (int i = 0; i < runs; ++i) {
    // Every second one over a network that holds messages back.
    const results again = i % 2 == 0 ? run_all({.transport = "self,shm"})
                                     : run_all({.transport = "self,sim:shm",
                                                .sim_seed = seed + static_cast<std::uint64_t>(i),
                                                .sim_delay_percent = 60});
    for (const auto& [key, found] : again)
      EXPECT_EQ(found, first.at(key)) << name_of(key.first) << ' ' << key.second << ", run " << i;
  }
}

TEST(sums_of_floating_point_numbers, are_the_same_at_all_ranks_of_an_allreduce) {
  for (const auto& [key, found] : run_all({.transport = "self,shm"})) {
    if (key.first != collective_operation::allreduce) continue;
    for (const floats& each : found) EXPECT_EQ(each, found.front()) << key.second;
  }
}

// If they did not, these tests would show nothing.
TEST(sums_of_floating_point_numbers, depend_on_the_algorithm) {
  const results all = run_all({.transport = "self,shm"});
  const auto of = [&](const char* name) { return all.at({collective_operation::allreduce, name}); };
  EXPECT_NE(of("ring"), of("recursive-doubling"));
}

}  // namespace
}  // namespace weft
