// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topology/cartesian.hpp"

#include <utility>

namespace weft::mpi {
namespace {

// Of a periodic dimension.
int wrapped(std::int64_t coordinate, int length) noexcept {
  const auto out = static_cast<int>(coordinate % length);
  return out < 0 ? out + length : out;
}

}  // namespace

cartesian::cartesian(std::vector<dimension> of) noexcept : dimensions_{std::move(of)}, strides_(dimensions_.size()) {
  for (std::size_t in = dimensions_.size(); in-- > 0;) {
    strides_[in] = size_;
    size_ *= dimensions_[in].length;
  }
}

int cartesian::coordinate(int rank, std::size_t in) const noexcept {
  return rank / strides_[in] % dimensions_[in].length;
}

int cartesian::shifted(int rank, std::size_t in, std::int64_t distance) const noexcept {
  const auto [length, is_periodic] = dimensions_[in];
  const int from = coordinate(rank, in);
  std::int64_t to = from + distance;
  if (is_periodic) {
    to = wrapped(to, length);
  } else if (to < 0 || to >= length) {
    return MPI_PROC_NULL;
  }
  return rank + (static_cast<int>(to) - from) * strides_[in];
}

int cartesian::rank_at(const int* coordinates) const noexcept {
  int out = 0;
  for (std::size_t in = 0; in < dimensions_.size(); ++in) {
    const auto [length, is_periodic] = dimensions_[in];
    const bool is_inside = coordinates[in] >= 0 && coordinates[in] < length;
    if (!is_inside && !is_periodic) return MPI_PROC_NULL;
    out += wrapped(coordinates[in], length) * strides_[in];
  }
  return out;
}

}  // namespace weft::mpi
