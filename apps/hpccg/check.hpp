// What a run has to find: residuals that are known of some sizes, and the solution.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpccg/problem.hpp"
#include "hpccg/solve.hpp"

namespace weft_hpccg {

/// Before the update of iteration `iteration`, which is counted from 1.
struct known_residual {
  std::uint32_t iteration;
  double value;
};

/// How far a residual may be from the known one, in parts of it; and each cell from the exact solution.
inline constexpr double residual_off_max = 1e-4, error_max = 1e-10;

/// Of the boxes of all ranks together; none where nothing is known. The last residuals, which say only how numbers were
/// rounded, are left out.
[[nodiscard]] std::vector<known_residual> known_residuals(const box& of_each, std::uint32_t ranks);

/// What is wrong, and how far off it is; empty where all is right.
[[nodiscard]] std::string find_wrong(const solve_result& found, const std::vector<known_residual>& known);

/// Collective. The lowest rank with other arguments than rank 0, at each rank. `exit_code`: of the command line.
[[nodiscard]] std::optional<std::uint32_t> find_other_arguments(weft::runtime& rt, const solve_options& options,
                                                                int exit_code);

}  // namespace weft_hpccg
