// SPDX-License-Identifier: BSD-3-Clause
// Messages between fibers of two ranks of MPI, each with a partner and a tag of its own.
#pragma once

#include <cstdint>

namespace mpi_fibers {

/// Fibers of each rank, and how long they go on.
struct exchange_options {
  std::uint32_t fibers = 1;
  std::uint32_t workers = 1;
  double seconds = 0.1;
};

/// What rank 0 has measured; the other rank has zeros.
struct exchange_result {
  double message_ns = 0;       ///< elapsed time over messages, there and back
  std::uint64_t messages = 0;  ///< sent by all fibers of both ranks
  std::uint64_t wrong = 0;     ///< answers that are not those to the fiber's messages
};

/// Collective over MPI_COMM_WORLD, which has two ranks; with MPI_THREAD_MULTIPLE. **Blocking**: about `seconds`, and
/// until each fiber has had its last answer. **Threads**: one. **Errors**: those of `weft::fiber_scheduler`.
[[nodiscard]] exchange_result exchange(const exchange_options& options);

}  // namespace mpi_fibers
