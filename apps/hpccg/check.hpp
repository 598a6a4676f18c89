// SPDX-License-Identifier: BSD-3-Clause
// Compares a run's residuals with known ones, and its solution with the exact one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpccg/known.hpp"
#include "hpccg/solve.hpp"

namespace weft_hpccg {

/// What is wrong, and how far off it is; empty where all is right.
[[nodiscard]] std::string find_wrong(const solve_result& found, const std::vector<known_residual>& known);

/// Collective. The lowest rank with other arguments than rank 0, at each rank. `exit_code`: of the command line.
[[nodiscard]] std::optional<std::uint32_t> find_other_arguments(weft::runtime& rt, const solve_options& options,
                                                                int exit_code);

}  // namespace weft_hpccg
