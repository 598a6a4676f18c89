// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topology/cartesian.hpp"

#include <utility>

namespace weft::mpi {
namespace {

// The coordinate in a periodic dimension.
int wrapped(std::int64_t coordinate, int length) noexcept {
  const auto out = static_cast<int>(coordinate % length);
  return out < 0 ? out + length : out;
}

}  // namespace

cartesian::cartesian(std::vector<dimension> dimensions) noexcept
    : dimensions_{std::move(dimensions)}, strides_(dimensions_.size()) {
  for (std::size_t axis = dimensions_.size(); axis-- > 0;) {
    strides_[axis] = size_;
    size_ *= dimensions_[axis].length;
  }
}

int cartesian::coordinate(int rank, std::size_t axis) const noexcept {
  return rank / strides_[axis] % dimensions_[axis].length;
}

int cartesian::shifted(int rank, std::size_t axis, std::int64_t distance) const noexcept {
  const auto [length, is_periodic] = dimensions_[axis];
  const int from = coordinate(rank, axis);
  std::int64_t to = from + distance;
  if (is_periodic) {
    to = wrapped(to, length);
  } else if (to < 0 || to >= length) {
    return MPI_PROC_NULL;
  }
  return rank + (static_cast<int>(to) - from) * strides_[axis];
}

int cartesian::rank_at(const int* coordinates) const noexcept {
  int out = 0;
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis) {
    const auto [length, is_periodic] = dimensions_[axis];
    const bool is_inside = coordinates[axis] >= 0 && coordinates[axis] < length;
    if (!is_inside && !is_periodic) return MPI_PROC_NULL;
    out += wrapped(coordinates[axis], length) * strides_[axis];
  }
  return out;
}

}  // namespace weft::mpi
