// SPDX-License-Identifier: BSD-3-Clause
// Communicators on which cases run.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace differential {

struct named_kind {
  const char* name;
  /// MPI_COMM_NULL at ranks that are not in it; MPI_COMM_WORLD itself, or a communicator that the caller frees.
  MPI_Comm (*make)(std::uint64_t seed);
};

const std::vector<named_kind>& kinds_of_communicators();

}  // namespace differential
