// SPDX-License-Identifier: BSD-3-Clause
// All operations of the library together, by many threads, at random: one body for ranks that are threads, for ranks
// that are processes, and for every transport.
//
// The operations of each thread of each rank follow from the seed alone (all_operations_script.hpp). So every rank
// knows the messages of the others to it, and how its regions look in the end, and compares all of it byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/runtime.hpp"

namespace weft::test {

struct all_operations_load {
  std::uint64_t seed = 1;
  std::uint32_t on_default = 1;    // threads that share the default device
  std::uint32_t on_shared = 2;     // threads that share another one
  std::uint32_t on_own = 2;        // threads with a device of their own
  std::uint32_t operations = 150;  // of each thread
  std::size_t bytes_max = std::size_t{1} << 20;
  std::uint32_t first_id = 1;  // of completions and engines; the next 100 are taken as well

  [[nodiscard]] std::uint32_t threads() const noexcept { return on_default + on_shared + on_own; }
};

/// The operations of one rank, by kinds. Figures of one run: choices that are not the seed's depend on time.
struct all_operations_summary {
  std::uint64_t done = 0;
  std::uint64_t posted = 0;
  std::uint64_t retried = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t cancelled_too_late = 0;
  std::uint64_t truncated = 0;
  std::uint64_t probed = 0;
  std::uint64_t flushed = 0;
};

/// Collective over the ranks of `rt`, all with one load. Ends the process with a line that has seed, rank, thread
/// and operation where something is not as it should be, or takes more than a minute.
all_operations_summary run_all_operations(runtime& rt, const all_operations_load& load);

}  // namespace weft::test
