// SPDX-License-Identifier: BSD-3-Clause
// Checks of datatypes, and of buffers, whose addresses depend on them.
#pragma once

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/error/error.hpp"
#include "mpi/handle/object.hpp"

namespace weft::mpi::check {

/// Any datatype, also one that has nothing but a name.
inline error_class any_type(const datatype* found) noexcept {
  if (found != nullptr) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_TYPE, "it is no datatype")};
}

/// A datatype with a size, for constructors and questions.
inline error_class sized_type(const datatype* found) noexcept {
  if (found != nullptr && !found->is_absent()) [[likely]]
    return error_class::success;
  return found == nullptr ? check::any_type(found)
                          : error_class{fail(MPI_ERR_TYPE, "%s has no size: MPI_Abi_set_fortran_info gives it one",
                                             found->name().c_str())};
}

/// A datatype of data that are communicated, packed or reduced.
inline error_class committed_type(const datatype* found) noexcept {
  if (found != nullptr && found->is_committed()) [[likely]]
    return error_class::success;
  const error_class error = check::sized_type(found);
  return error != error_class::success ? error : error_class{fail(MPI_ERR_TYPE, "the datatype is not committed")};
}

/// Says what is wrong with a buffer that is none at first sight, if anything is.
[[gnu::cold]] error_class null_buffer(const void* address, MPI_Count count, const datatype* type) noexcept;

/// A buffer of elements of a type; null: another check finds fault with it. Small numbers are no addresses, but
/// MPI_BOTTOM, from where displacements are addresses.
inline error_class buffer(const void* address, MPI_Count count, const datatype* type) noexcept {
  std::int64_t bytes = 0;
  if (!is_predefined(address) && type != nullptr && type->try_bytes_of(count, bytes)) [[likely]]
    return error_class::success;
  return check::null_buffer(address, count, type);
}

/// A buffer of a collective, which may also be MPI_IN_PLACE.
inline error_class buffer_or_inplace(const void* address, MPI_Count count, const datatype* type) noexcept {
  return address == MPI_IN_PLACE ? error_class::success : check::buffer(address, count, type);
}

/// The name of a data representation is "external32": there is no other.
error_class datarep(const char* name) noexcept;

}  // namespace weft::mpi::check
