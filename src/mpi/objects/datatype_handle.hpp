// SPDX-License-Identifier: BSD-3-Clause
// Datatypes by their handles.
#pragma once

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/handle/object.hpp"

namespace weft::mpi {

/// The datatype of a handle; null if it is none.
[[nodiscard]] inline const datatype* find_datatype(MPI_Datatype handle) noexcept {
  if (is_predefined(handle)) [[likely]]
    return find_predefined(number_of(handle));
  return find_derived(handle);
}

[[nodiscard]] inline MPI_Datatype handle_of(const datatype& type) noexcept {
  if (type.is_predefined()) return reinterpret_cast<MPI_Datatype>(static_cast<std::uintptr_t>(type.handle()));
  return reinterpret_cast<MPI_Datatype>(const_cast<datatype*>(&type));
}

}  // namespace weft::mpi
