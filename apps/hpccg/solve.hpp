// SPDX-License-Identifier: BSD-3-Clause
// The method of conjugate gradients, without preconditioner, by all workers of all ranks (dosanjh2016, III.A.3).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <weft/weft.hpp>

#include "hpccg/iteration.hpp"
#include "hpccg/problem.hpp"

namespace weft_hpccg {

struct solve_options {
  box cells;                  ///< of each rank
  std::uint32_t workers = 1;  ///< threads of each rank
};

/// The same at each rank. Times are those of the rank that took longest.
struct solve_result {
  std::vector<double> residuals;  ///< sqrt(r.r) before the update of iteration 1, 2 and so on, then the last one
  double error = 0;               ///< the greatest |x - 1| of all cells
  double seconds = 0;
  double halo_seconds = 0;  ///< of the worker that was longest in puts and waits for planes
  double sum_seconds = 0;   ///< of worker 0 in allreduces

  /// How many iterations there were: fewer than `iterations_max` if nothing was left of r.
  [[nodiscard]] std::uint32_t iterations() const noexcept { return static_cast<std::uint32_t>(residuals.size() - 1); }
  /// Operations on floating-point numbers, as the benchmark counts them: 27 values in each row, 2 products of vectors
  /// and 3 updates.
  [[nodiscard]] double operations(double cells_of_all) const noexcept {
    return iterations() * cells_of_all * (2 * 27 + 4 + 6);
  }
};

/// Called by worker 0 of each rank, after each iteration.
using tell_progress = std::function<void(std::uint32_t iterations_done)>;

/// Collective, once in a runtime; all ranks have the same options. The process ends with a message if a worker fails,
/// as others would wait for it.
[[nodiscard]] solve_result solve(weft::runtime& rt, const solve_options& options, const tell_progress& tell);

}  // namespace weft_hpccg
