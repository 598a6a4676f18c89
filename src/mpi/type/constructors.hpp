// SPDX-License-Identifier: BSD-3-Clause
// Datatypes that a program makes, and their handles.
#pragma once

#include "mpi.h"
#include "mpi/datatype/construct.hpp"
#include "mpi/objects/datatype_handle.hpp"

namespace weft::mpi {

struct rank_state;

/// The width of a function's counts, from one of its arguments.
constexpr width width_of(int) noexcept { return width::narrow; }
constexpr width width_of(const int*) noexcept { return width::narrow; }
constexpr width width_of(MPI_Count) noexcept { return width::wide; }
constexpr width width_of(const MPI_Count*) noexcept { return width::wide; }

/// Gives a handle of what `make`, a function of construct.hpp, makes of the arguments.
template <class Make, class... Arguments>
int construct(MPI_Datatype* to, Make* make, Arguments... arguments) noexcept {
  datatype_ref made;
  const error_class failure = make(arguments..., made);
  if (failure != error_class::success) return static_cast<int>(failure);
  *to = handle_of(*made.release());
  return MPI_SUCCESS;
}

int type_struct(MPI_Count count, number_list block_lengths, number_list displacements, const MPI_Datatype* types,
                width form, MPI_Datatype* to) noexcept;
/// The duplicate has copies of the attributes.
int type_dup(rank_state& rank, const datatype& old, MPI_Datatype* to) noexcept;
int type_commit(const MPI_Datatype* handle) noexcept;
/// The type lives on in types and operations that use it.
int type_free(rank_state& rank, MPI_Datatype* handle) noexcept;

/// The type of Fortran's variables with that many decimal digits `p` and that range of exponents `r`; either may be
/// MPI_UNDEFINED. `kind` is a combiner of Fortran; an integer has `r` digits, and no `p`.
int type_fortran(combiner kind, int p, int r, MPI_Datatype* to) noexcept;

}  // namespace weft::mpi
