// SPDX-License-Identifier: BSD-3-Clause
// Collectives of jobs of 1 to 9 ranks by seeds: over shared memory, over a network that delays and refuses, and with
// calls compared. TEST_SEED is the first seed, TEST_SEEDS their number.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/random_collectives.hpp"
#include "support/random_seed.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

std::uint64_t count_of_seeds() {
  const char* const set = std::getenv("TEST_SEEDS");
  if (set != nullptr) return std::strtoull(set, nullptr, 0);
  return test::under_sanitizer ? 12 : 100;
}

// Seeds that all transports and forms of jobs share.
runtime_options options_of(std::uint64_t seed) {
  runtime_options out;
  out.check = seed % 5 == 0;
  if (seed % 4 == 0) {
    out.transport = "sim:self,sim:shm";
    out.sim_seed = static_cast<std::size_t>(seed);
  }
  return out;
}

TEST(random_jobs, give_what_the_oracle_gives) {
  const std::uint64_t first = test::random_seed() % 1'000'000'000 + 1;  // of sim, 0 draws one
  const std::uint64_t count = count_of_seeds();
  for (std::uint64_t seed = first; seed != first + count; ++seed) {
    const auto ranks = static_cast<std::uint32_t>(1 + seed % 9);
    test::local_job{ranks, options_of(seed)}.run([&](runtime& rt) {
      const std::string faults = test::run_random_collectives(rt, seed, 12);
      EXPECT_EQ(faults, "") << "replay it with TEST_SEED=" << seed - 1 << " TEST_SEEDS=1, rank " << rt.rank() << " of "
                            << ranks;
    });
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace weft
