// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients by all ranks of an MPI job, one thread each.
#pragma once

#include <mpi.h>

#include <vector>

#include "hpccg/problem.hpp"

namespace mpi_hpccg {

/// The same at each rank.
struct solve_result {
  std::vector<double> residuals;  ///< sqrt(r.r) before the update of iteration 1, 2 and so on, then the last one
  double error = 0;               ///< the greatest |x - 1| of all cells
  double seconds = 0;             ///< of the rank that took longest
};

/// Collective. `cells`: of each rank, the same at all.
[[nodiscard]] solve_result solve(MPI_Comm comm, const weft_hpccg::box& cells);

}  // namespace mpi_hpccg
