// SPDX-License-Identifier: BSD-3-Clause
// The predefined operations of reductions, by their handles and those of the types that they take (MPI 5.0, 6.9.2).
#pragma once

#include <array>
#include <cstdint>

#include "weft/collectives.hpp"

namespace weft::mpi {

namespace detail {
inline constexpr std::uintptr_t first_operation = 0x20, operations = 0x20;
inline constexpr std::uintptr_t first_type = 0x200, types = 0x100;
inline constexpr std::size_t reduction_columns = 13;

/// Column and row of a handle; 0: it has none.
extern const std::array<std::uint8_t, operations> column_of_operation;
extern const std::array<std::uint8_t, types> row_of_type;
using reduction_row = std::array<weft::reduction, reduction_columns>;
extern const reduction_row* const reduction_rows;
}  // namespace detail

/// How the operation with this handle combines elements of the predefined type with that one, packed as in messages:
/// a pair of a value and an index has no gaps. Null: it does not take them.
[[nodiscard]] inline const weft::reduction* find_reduction(std::uintptr_t operation, std::uintptr_t type) noexcept {
  const std::uintptr_t op_index = operation - detail::first_operation, type_index = type - detail::first_type;
  if (op_index >= detail::operations || type_index >= detail::types) return nullptr;
  const weft::reduction& found =
      detail::reduction_rows[detail::row_of_type[type_index]][detail::column_of_operation[op_index]];
  return found.combine != nullptr ? &found : nullptr;
}

/// Finds the reduction of a pair of two numbers of the predefined type with handle `number`, as MPI_2INTEGER is one.
[[nodiscard]] const weft::reduction* find_reduction_of_pair(std::uintptr_t operation, std::uintptr_t number) noexcept;

}  // namespace weft::mpi
