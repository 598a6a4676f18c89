// SPDX-License-Identifier: BSD-3-Clause
// A cartesian grid of ranks: ranks count along the last dimension first (MPI 5.0, 8.1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpi.h"

namespace weft::mpi {

/// It never changes, so that a communicator and its duplicates have one together.
class cartesian {
 public:
  struct dimension {
    int length;  // 1 or more
    bool is_periodic;
  };
  /// All lengths together are below 2^31.
  explicit cartesian(std::vector<dimension> dimensions) noexcept;

  [[nodiscard]] const std::vector<dimension>& dimensions() const noexcept { return dimensions_; }
  /// How many ranks it has.
  [[nodiscard]] int size() const noexcept { return size_; }

  /// The coordinate of a rank in a dimension.
  [[nodiscard]] int coordinate(int rank, std::size_t axis) const noexcept;
  /// The rank that is `distance` away in a dimension; MPI_PROC_NULL beyond the end of one that is not periodic.
  [[nodiscard]] int shifted(int rank, std::size_t axis, std::int64_t distance) const noexcept;
  /// The rank at these coordinates, one for each dimension; MPI_PROC_NULL if there is none.
  [[nodiscard]] int rank_at(const int* coordinates) const noexcept;

 private:
  std::vector<dimension> dimensions_;
  std::vector<int> strides_;  // ranks between neighbours in each dimension
  int size_ = 1;
};

}  // namespace weft::mpi
