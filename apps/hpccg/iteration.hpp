// SPDX-License-Identifier: BSD-3-Clause
// An iteration's steps on vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "hpccg/problem.hpp"

namespace weft_hpccg {

inline constexpr std::uint32_t iterations_max = 149;

[[nodiscard]] inline double product(std::span<const double> a, std::span<const double> b, const range& rows) noexcept {
  double sum = 0;
  for (std::size_t i = rows.begin; i < rows.end; ++i) sum += a[i] * b[i];
  return sum;
}

/// to = to + factor * by
inline void add(std::span<double> to, double factor, std::span<const double> more, const range& rows) noexcept {
  for (std::size_t i = rows.begin; i < rows.end; ++i) to[i] += factor * more[i];
}

/// direction = residual + factor * direction
inline void redirect(std::span<double> direction, double factor, std::span<const double> residual,
                     const range& rows) noexcept {
  for (std::size_t i = rows.begin; i < rows.end; ++i) direction[i] = residual[i] + factor * direction[i];
}

/// Whether another iteration can divide by this. False for NaN.
[[nodiscard]] inline bool has_residual(double squares) noexcept {
  return squares >= std::numeric_limits<double>::min();
}

}  // namespace weft_hpccg
