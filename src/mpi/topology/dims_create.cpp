// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topology/dims_create.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/error/error.hpp"

namespace weft::mpi {
namespace {

// Whether `base` to the power of `exponent` is at least `limit`.
bool reaches(std::int64_t base, std::size_t exponent, std::int64_t limit) noexcept {
  std::int64_t power = 1;
  for (; exponent > 0 && power < limit && base > 1; --exponent) power *= base;
  return power >= limit;
}

std::vector<int> divisors_of(int number) {
  std::vector<int> small, large;
  for (int each = 1; std::int64_t{each} * each <= number; ++each) {
    if (number % each != 0) continue;
    small.push_back(each);
    if (each != number / each) large.push_back(number / each);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

// Writes `number` as a product of as many factors as `out` has, in descending order, none above `largest`: the first
// one as small as it can be, then the second one, and so on. False if there is no such product.
bool divide(int number, int largest, std::span<const int> divisors, std::span<int> out) noexcept {
  if (number == 1) {
    std::ranges::fill(out, 1);
    return true;
  }
  if (out.empty()) return false;
  for (const int factor : divisors) {
    if (factor > largest) return false;
    if (number % factor != 0 || !reaches(factor, out.size(), number)) continue;
    if (divide(number / factor, factor, divisors, out.subspan(1))) {
      out.front() = factor;
      return true;
    }
  }
  return false;
}

}  // namespace

int create_dimensions(int processes, int count, int* lengths) noexcept {
  if (processes <= 0) return fail(MPI_ERR_ARG, "%d processes", processes);
  if (count < 0) return fail(MPI_ERR_DIMS, "%d dimensions", count);
  std::int64_t fixed = 1;
  std::size_t free = 0;
  for (int dimension = 0; dimension < count; ++dimension) {
    if (lengths[dimension] < 0)
      return fail(MPI_ERR_DIMS, "dimension %d has the length %d", dimension, lengths[dimension]);
    if (lengths[dimension] == 0) {
      ++free;
    } else if (fixed <= processes) {
      fixed *= lengths[dimension];
    }
  }
  if (processes % fixed != 0)
    return fail(MPI_ERR_DIMS, "%d processes can't be divided by the lengths that are given", processes);
  return guarded([&] {
    const auto number = static_cast<int>(processes / fixed);
    std::vector<int> factors(free);
    if (free > 0) divide(number, number, divisors_of(number), factors);
    for (int dimension = 0, next = 0; dimension < count; ++dimension) {
      if (lengths[dimension] == 0) lengths[dimension] = factors[static_cast<std::size_t>(next++)];
    }
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
