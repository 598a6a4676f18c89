// SPDX-License-Identifier: BSD-3-Clause
#include "hpccg/check.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "other_arguments.hpp"

namespace weft_hpccg {

// Each comparison is of the kind that is false for a value that is no number.
std::string find_wrong(const solve_result& found, const std::vector<known_residual>& known) {
  for (const auto& [iteration, value] : known) {
    if (iteration > found.residuals.size()) {
      return fmt::format("the run has no iteration {}, where a residual of {} is expected", iteration, value);
    }
    const double is = found.residuals[iteration - 1], off = std::abs(is - value) / value;
    if (!(off <= residual_off_max)) {
      return fmt::format(
          "the residual of iteration {} is {:.6g}, expected is {:.6g}: relative error {:.2g}, {} is allowed", iteration,
          is, value, off, residual_off_max);
    }
  }
  if (!(found.error <= error_max)) {
    return fmt::format("the solution is off by {:.2g}, {} is allowed", found.error, error_max);
  }
  return {};
}

std::optional<std::uint32_t> find_other_arguments(weft::runtime& rt, const solve_options& options, int exit_code) {
  const std::array<std::int64_t, 5> mine{options.cells.nx, options.cells.ny, options.cells.nz, options.workers,
                                         exit_code};
  return weft::find_other_arguments(rt, mine);
}

}  // namespace weft_hpccg
