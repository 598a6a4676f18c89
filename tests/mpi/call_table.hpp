// SPDX-License-Identifier: BSD-3-Clause
// All functions of MPI that this library has, to be called with any arguments. The build makes the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weft::test {

/// As in the prototype; an array is a pointer to its elements.
struct mpi_parameter {
  std::string_view type;
  std::string_view name;
};

struct mpi_call {
  std::string_view name;
  std::string_view chapter;
  std::span<const mpi_parameter> parameters;
  int (*run)(const std::uintptr_t* arguments);
};

[[nodiscard]] std::span<const mpi_call> all_mpi_calls() noexcept;

/// Names of functions and types are looked at by their parts.
[[nodiscard]] constexpr bool contains(std::string_view name, std::string_view part) noexcept {
  return name.find(part) != std::string_view::npos;
}

/// A number as an argument: an integer, or a pointer with that address.
template <class Type>
Type argument_of(std::uintptr_t number) noexcept {
  if constexpr (std::is_pointer_v<Type>) {
    return reinterpret_cast<Type>(number);
  } else {
    return static_cast<Type>(number);
  }
}

template <class... Types, std::size_t... Indices>
int call_with(int (*function)(Types...), const std::uintptr_t* arguments, std::index_sequence<Indices...>) {
  return function(argument_of<Types>(arguments[Indices])...);
}
template <class... Types>
int call_with(int (*function)(Types...), [[maybe_unused]] const std::uintptr_t* arguments) {
  return call_with(function, arguments, std::index_sequence_for<Types...>{});
}

}  // namespace weft::test
