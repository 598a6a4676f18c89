// SPDX-License-Identifier: BSD-3-Clause
// Checks of datatypes, and of buffers, whose addresses depend on them.
#pragma once

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/object.hpp"

namespace weft::mpi::check {

/// Any datatype, also one that has nothing but a name.
inline int is_datatype(const datatype* found) noexcept {
  if (found != nullptr) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_TYPE, "it is no datatype");
}

/// A datatype with a size, for constructors and questions.
inline int is_usable(const datatype* found) noexcept {
  if (found != nullptr && !found->is_absent()) [[likely]]
    return MPI_SUCCESS;
  return found == nullptr
             ? is_datatype(found)
             : fail(MPI_ERR_TYPE, "%s has no size: MPI_Abi_set_fortran_info gives it one", found->name().c_str());
}

/// A datatype of data that are communicated, packed or reduced.
inline int is_committed(const datatype* found) noexcept {
  if (found != nullptr && found->is_committed()) [[likely]]
    return MPI_SUCCESS;
  const int error = is_usable(found);
  return error != MPI_SUCCESS ? error : fail(MPI_ERR_TYPE, "the datatype is not committed");
}

/// Says what is wrong with a buffer that is none at first sight, if anything is.
[[gnu::cold]] int is_buffer_after_all(const void* address, MPI_Count count, const datatype* type) noexcept;

/// A buffer of elements of a type; null: another check finds fault with it. Small numbers are no addresses, but
/// MPI_BOTTOM, from where displacements are addresses.
inline int is_buffer(const void* address, MPI_Count count, const datatype* type) noexcept {
  std::int64_t bytes = 0;
  if (!is_predefined(address) && type != nullptr && type->try_bytes_of(count, bytes)) [[likely]]
    return MPI_SUCCESS;
  return is_buffer_after_all(address, count, type);
}

/// A buffer of a collective, which may also be MPI_IN_PLACE.
inline int is_buffer_or_in_place(const void* address, MPI_Count count, const datatype* type) noexcept {
  return address == MPI_IN_PLACE ? MPI_SUCCESS : is_buffer(address, count, type);
}

}  // namespace weft::mpi::check
