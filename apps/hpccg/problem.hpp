// SPDX-License-Identifier: BSD-3-Clause
// The system of equations: a cell of a box for each unknown, and a matrix that joins each cell with the 26 around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft_hpccg {

/// The cells of one rank. The boxes of all ranks are stacked along z, in the order of ranks.
struct box {
  std::uint32_t nx = 1;
  std::uint32_t ny = 1;
  std::uint32_t nz = 1;

  /// Of one plane of equal z.
  [[nodiscard]] std::size_t plane() const noexcept { return std::size_t{nx} * ny; }
  [[nodiscard]] std::size_t cells() const noexcept { return plane() * nz; }
  /// Of a vector that also has the nearest planes of both neighbours.
  [[nodiscard]] std::size_t cells_with_halo() const noexcept { return cells() + 2 * plane(); }
};

/// Rows, or cells, from `begin` to before `end`.
struct range {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] bool is_empty() const noexcept { return begin >= end; }
  [[nodiscard]] std::size_t size() const noexcept { return is_empty() ? 0 : end - begin; }
  [[nodiscard]] range part_in(const range& other) const noexcept {
    return {begin > other.begin ? begin : other.begin, end < other.end ? end : other.end};
  }
};

/// The rows of one rank, stored as a sparse matrix that knows nothing of its shape: of each row the values that are not
/// zero, and their columns. Columns are numbered as the cells of a vector with halo: first the plane below, then the
/// rank's own cells, then the plane above.
class matrix {
 public:
  /// The diagonal is 27, and -1 stands for each cell around it that there is. **Errors**: `std::bad_alloc`.
  matrix(const box& grid, bool has_below, bool has_above);

  [[nodiscard]] std::size_t rows() const noexcept { return row_begins_.size() - 1; }
  /// How many values row `row` has.
  [[nodiscard]] std::size_t entries(std::size_t row) const noexcept { return row_begins_[row + 1] - row_begins_[row]; }
  /// out[row] = row times `in`, which has a halo, for these rows.
  void multiply(std::span<const double> input, std::span<double> out, const range& rows) const noexcept;

 private:
  std::vector<std::size_t> row_begins_;
  std::vector<double> values_;
  std::vector<std::uint32_t> columns_;
};

/// The right-hand side of the row, for which 1 everywhere is the solution.
[[nodiscard]] double right_side(const matrix& system, std::size_t row) noexcept;

}  // namespace weft_hpccg
