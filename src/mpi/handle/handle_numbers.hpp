// SPDX-License-Identifier: BSD-3-Clause
// Handles as integers: MPI_Comm_toint, MPI_Comm_fromint and so on.
#pragma once

#include "mpi/handle/object.hpp"

namespace weft::mpi {

/// The number of an address. Predefined handles are their numbers; others get numbers from there on, and keep them.
[[nodiscard]] int number_of_address(void* address) noexcept;
/// The address with this number; null if no address has it.
[[nodiscard]] void* address_of_number(int number) noexcept;

template <class Handle>
[[nodiscard]] int to_int(Handle handle) noexcept {
  return number_of_address(reinterpret_cast<void*>(handle));
}
template <class Handle>
[[nodiscard]] Handle from_int(int number) noexcept {
  return reinterpret_cast<Handle>(address_of_number(number));
}

}  // namespace weft::mpi
