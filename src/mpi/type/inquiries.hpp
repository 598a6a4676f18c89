// SPDX-License-Identifier: BSD-3-Clause
// Sizes, bounds and contents of datatypes.
#pragma once

#include <limits>
#include <span>

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/error/error.hpp"

namespace weft::mpi {

struct rank_state;

/// Writes a number, or MPI_UNDEFINED where the caller's type cannot hold it.
template <class Number>
int write_number(Number* to, std::int64_t value) noexcept {
  *to = value <= std::numeric_limits<Number>::max() ? static_cast<Number>(value) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

/// MPI_UNDEFINED for a type of Fortran that has no size. Null: it is no datatype.
template <class Number>
int get_size(const datatype* type, Number* to) noexcept {
  if (type == nullptr) return fail(MPI_ERR_TYPE, "it is no datatype");
  return write_number(to, type->is_absent() ? MPI_UNDEFINED : type->size());
}

template <class Number>
int get_bounds(Number* lower, std::int64_t lower_bound, Number* extent, std::int64_t value) noexcept {
  *lower = lower_bound;
  *extent = value;
  return MPI_SUCCESS;
}

/// A type that was made with counts of MPI_Count is for the second ones alone (MPI 5.0, 5.1.13).
int get_envelope(const datatype& type, int* integers, int* addresses, int* types, int* kind) noexcept;
int get_envelope(const datatype& type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* large_counts,
                 MPI_Count* types, int* kind) noexcept;

/// An array of a caller's. Where it has room for nothing it may be null.
template <class Element>
struct room_for {
  MPI_Count count;
  Element* elements;
};
/// Derived types are given as fresh ones, which their owner frees.
int get_contents(const datatype& type, room_for<int> integers, room_for<MPI_Aint> addresses,
                 room_for<MPI_Datatype> types) noexcept;
int get_contents(const datatype& type, room_for<int> integers, room_for<MPI_Aint> addresses,
                 room_for<MPI_Count> large_counts, room_for<MPI_Datatype> types) noexcept;

/// The basic elements that a status has received.
int get_elements(const MPI_Status& status, const datatype& type, int* count) noexcept;
int get_elements(const MPI_Status& status, const datatype& type, MPI_Count* count) noexcept;

/// MPI_DATATYPE_NULL has a name, too. `type` is null if the handle is none.
int get_name(rank_state& rank, MPI_Datatype handle, const datatype* type, char* name, int* length) noexcept;

int match_size(int type_class, int bytes, MPI_Datatype* to) noexcept;
int get_pair(const datatype& value, const datatype& index, MPI_Datatype* to) noexcept;

}  // namespace weft::mpi
