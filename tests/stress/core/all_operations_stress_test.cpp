// SPDX-License-Identifier: BSD-3-Clause
// All operations together, ranks as threads over one mapping: many seeds, threads on devices of their own and shared.
#include <gtest/gtest.h>

#include <ostream>

#include "base/config.hpp"
#include "support/all_operations.hpp"
#include "support/random_seed.hpp"
#include "weft/test/local_job.hpp"

namespace {

using weft::test::all_operations_load;
using weft::test::run_all_operations;

struct mix {
  std::uint32_t ranks;
  std::uint32_t on_default, on_shared, on_own;
  std::uint32_t operations;
  std::size_t bytes_max = std::size_t{1} << 20;
};

std::ostream& operator<<(std::ostream& out, const mix& of) {
  return out << of.ranks << "_ranks_with_" << of.on_default << "_on_the_default_" << of.on_shared << "_on_a_shared_"
             << of.on_own << "_on_own_devices_" << of.operations << "_operations";
}

class all_operations : public testing::TestWithParam<mix> {};

TEST_P(all_operations, together_lose_change_and_repeat_nothing) {
  const mix tried = GetParam();
  // One number replays what a simulated network did, and what it did it to.
  const std::uint64_t simulated = weft::base::process_settings().sim_seed;
  const std::uint64_t seed = simulated != 0 ? simulated : weft::test::random_seed();
  weft::test::local_job{tried.ranks}.run([&](weft::runtime& rt) {
    run_all_operations(rt, {.seed = seed,
                            .on_default = tried.on_default,
                            .on_shared = tried.on_shared,
                            .on_own = tried.on_own,
                            .operations = tried.operations,
                            .bytes_max = tried.bytes_max});
  });
}

constexpr std::uint32_t operations = weft::test::under_sanitizer ? 120 : 400;

INSTANTIATE_TEST_SUITE_P(mixes, all_operations,
                         testing::Values(mix{1, 1, 2, 2, operations}, mix{2, 3, 0, 0, operations},
                                         mix{2, 0, 0, 3, operations}, mix{2, 1, 2, 2, operations},
                                         mix{4, 1, 2, 1, operations / 2}),
                         testing::PrintToStringParamName());

// For many runs over a simulated network (tests/scripts/seeds_test.py).
INSTANTIATE_TEST_SUITE_P(short_mixes, all_operations,
                         testing::Values(mix{1, 1, 0, 1, 40, 100'000}, mix{2, 1, 2, 1, 40, 100'000}),
                         testing::PrintToStringParamName());

}  // namespace
