// SPDX-License-Identifier: BSD-3-Clause
#include "hpccg/problem.hpp"

namespace weft_hpccg {

namespace {

constexpr std::size_t entries_max = 27;  // of a row
constexpr double diagonal = 27;

// The coordinates that differ from `middle` by at most 1, and lie from `first` to `last`.
struct coordinates {
  std::int64_t begin, end;
  coordinates(std::int64_t middle, std::int64_t first, std::int64_t last) noexcept
      : begin{middle > first ? middle - 1 : first}, end{middle < last ? middle + 1 : last} {}
};

}  // namespace

matrix::matrix(const box& grid, bool has_below, bool has_above) {
  const std::int64_t nx = grid.nx, ny = grid.ny, nz = grid.nz;
  const std::int64_t lowest = has_below ? -1 : 0, highest = has_above ? nz : nz - 1;
  row_begins_.reserve(grid.cells() + 1);
  values_.reserve(grid.cells() * entries_max);
  columns_.reserve(grid.cells() * entries_max);
  row_begins_.push_back(0);
  const auto add_row = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const coordinates xs{x, 0, nx - 1}, ys{y, 0, ny - 1}, zs{z, lowest, highest};
    for (std::int64_t k = zs.begin; k <= zs.end; ++k) {
      for (std::int64_t j = ys.begin; j <= ys.end; ++j) {
        for (std::int64_t i = xs.begin; i <= xs.end; ++i) {
          values_.push_back(i == x && j == y && k == z ? diagonal : -1);
          columns_.push_back(static_cast<std::uint32_t>(((k + 1) * ny + j) * nx + i));
        }
      }
    }
    row_begins_.push_back(values_.size());
  };
  for (std::int64_t z = 0; z < nz; ++z) {
    for (std::int64_t y = 0; y < ny; ++y) {
      for (std::int64_t x = 0; x < nx; ++x) add_row(x, y, z);
    }
  }
}

void matrix::multiply(std::span<const double> input, std::span<double> out, const range& rows) const noexcept {
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    double sum = 0;
    for (std::size_t entry = row_begins_[row]; entry < row_begins_[row + 1]; ++entry)
      sum += values_[entry] * input[columns_[entry]];
    out[row] = sum;
  }
}

double right_side(const matrix& system, std::size_t row) noexcept {
  return diagonal - static_cast<double>(system.entries(row) - 1);
}

}  // namespace weft_hpccg
