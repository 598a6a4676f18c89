// SPDX-License-Identifier: BSD-3-Clause
// A run of a DT graph by MPI: each rank goes through its nodes in the order of their numbers, which no edge leads back.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "dt/graph.hpp"

namespace mpi_dt {

struct run_result {
  double seconds = 0;  ///< of the rank that took longest
  std::int64_t checksum = 0;
  std::uint64_t bytes = 0;  ///< of all messages along edges
};

/// Collective. The job ends with a message if a node gets an array of another length than its sender makes.
[[nodiscard]] run_result run_graph(MPI_Comm comm, weft_dt::graph_kind kind, weft_dt::graph_class size);

}  // namespace mpi_dt
