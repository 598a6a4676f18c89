// SPDX-License-Identifier: BSD-3-Clause
// Runs of all operations by a process that is a rank: two seeds, by threads on devices of all kinds.
//
// The seed is TEST_SEED, or the number that tells this job from others: it is random, and equal at all ranks.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/config.hpp"
#include "support/all_operations.hpp"
#include "support/random_seed.hpp"
#include "weft/weft.hpp"

namespace weft::test {

inline std::uint64_t number_from(const char* name, std::uint64_t unset) {
  const char* const set = std::getenv(name);
  return set != nullptr ? std::strtoull(set, nullptr, 0) : unset;
}

/// By the environment: TEST_SEED, and TEST_OPERATIONS of each thread. Answers the exit status.
inline int run_all_operations_as_a_rank() {
  try {
    const auto promised = base::process_settings().test_ranks;
    runtime rt;
    if (!promised || rt.size() != *promised) {
      std::fprintf(stderr, "all operations: %u ranks instead of %u\n", rt.size(), promised.value_or(0));
      return 1;
    }
    const std::uint64_t job = memory_region{rt, std::size_t{1}}.handle().job;
    all_operations_load load{.seed = number_from("TEST_SEED", job)};
    load.operations = static_cast<std::uint32_t>(number_from("TEST_OPERATIONS", under_sanitizer ? 60 : 200));
    for (const bool are_shared : {true, false}) {
      load.on_default = are_shared ? 1 : 0;
      load.on_shared = are_shared ? 2 : 0;
      load.on_own = are_shared ? 1 : 3;
      const all_operations_summary sum = run_all_operations(rt, load);
      std::printf(
          "rank %u seed %llu done %llu posted %llu retried %llu cancelled %llu too_late %llu truncated %llu "
          "probed %llu flushed %llu\n",
          rt.rank(), static_cast<unsigned long long>(load.seed), static_cast<unsigned long long>(sum.done),
          static_cast<unsigned long long>(sum.posted), static_cast<unsigned long long>(sum.retried),
          static_cast<unsigned long long>(sum.cancelled), static_cast<unsigned long long>(sum.cancelled_too_late),
          static_cast<unsigned long long>(sum.truncated), static_cast<unsigned long long>(sum.probed),
          static_cast<unsigned long long>(sum.flushed));
      ++load.seed;
      load.first_id += 100;
    }
    const runtime_counters counted = rt.counters();
    std::printf("rank %u fabric_messages %llu fabric_bytes %llu\n", rt.rank(),
                static_cast<unsigned long long>(counted.fabric_messages),
                static_cast<unsigned long long>(counted.fabric_bytes));
    std::fflush(stdout);
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "all operations: %s\n", problem.what());
    return 1;
  }
}

}  // namespace weft::test
