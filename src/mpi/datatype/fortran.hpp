// SPDX-License-Identifier: BSD-3-Clause
// Types of Fortran's variables by the digits and the range that they need: predefined types without names (MPI 5.0,
// 19.1.9). Each is made with the first question for it, and never destroyed.
#pragma once

#include <optional>

#include "mpi/datatype/datatype.hpp"

namespace weft::mpi {

/// The smallest type with at least `digits` decimal digits and a range of exponents of `range`. `kind`: real, complex
/// or integer; an integer has `range` digits. Null: none is large enough, a number is negative, or both are absent.
/// **Threads**: any. **Errors**: std::bad_alloc.
[[nodiscard]] const datatype* find_of_fortran(combiner kind, std::optional<int> digits, std::optional<int> range);

/// Whether it is such a type.
[[nodiscard]] inline bool is_of_fortran(const datatype& type) noexcept {
  const combiner kind = type.constructor().kind;
  return kind == combiner::f90_real || kind == combiner::f90_complex || kind == combiner::f90_integer;
}

}  // namespace weft::mpi
