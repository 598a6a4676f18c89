// SPDX-License-Identifier: BSD-3-Clause
// Residuals that are known of some sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "hpccg/problem.hpp"

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

}  // namespace weft_hpccg
