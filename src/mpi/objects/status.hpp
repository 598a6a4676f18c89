// SPDX-License-Identifier: BSD-3-Clause
// Results of operations, and the statuses that show them.
#pragma once

#include <cstdint>

#include "mpi.h"

namespace weft::mpi {

/// The result of an operation, from which a status is made. As it is made here, it gives an empty status (3.7.3).
struct outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int error = MPI_SUCCESS;
  bool is_cancelled = false;
  std::uint64_t bytes = 0;
};
/// The outcome of a receive from MPI_PROC_NULL.
inline constexpr outcome outcome_of_no_process{.source = MPI_PROC_NULL};

/// Writes a status, but for its field MPI_ERROR, which most functions leave as it is. It may be MPI_STATUS_IGNORE.
void write_status(MPI_Status* to, const outcome& from) noexcept;
/// Writes the status of a function whose peer is MPI_PROC_NULL, which returns early.
int write_no_process(MPI_Status* to) noexcept;
/// The result that a status shows, without an error.
[[nodiscard]] outcome outcome_of(const MPI_Status& status) noexcept;
/// The bytes that a status tells of.
[[nodiscard]] std::uint64_t bytes_of(const MPI_Status& status) noexcept;

}  // namespace weft::mpi
