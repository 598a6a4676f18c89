// SPDX-License-Identifier: BSD-3-Clause
// Fortran's default kinds, as MPI_INTEGER: predefined types whose bytes only a compiler of Fortran knows
// (MPI 5.0, 20.4.1).
#pragma once

#include "mpi/datatype/datatype.hpp"

namespace weft::mpi {

/// The bytes of a number of each kind; 0: unknown.
struct default_kinds {
  int logical = 0;
  int integer = 0;
  int real = 0;
  int double_precision = 0;
};

/// Gives the types of the known kinds, and MPI_CHARACTER, their sizes, for all ranks of the process: from then on they
/// can be used as other predefined types. **Returns** false, and changes nothing, where no number of a kind has these
/// bytes, or a type has another size already. **Threads**: any, several at once. **Errors**: std::bad_alloc.
[[nodiscard]] bool set_default_kinds(const default_kinds& kinds);

/// Whether it is a type of a default kind.
[[nodiscard]] bool has_default_kind(const datatype& type) noexcept;
/// The pair of two of these numbers, as MPI_2INTEGER; null: there is none.
[[nodiscard]] const datatype* find_pair_of_default_kind(const datatype& number) noexcept;

}  // namespace weft::mpi
