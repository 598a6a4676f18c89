// The predefined datatypes: their kind, size and extent, found by the handle.
#pragma once

#include <cstdint>

#include "mpi.h"

namespace weft::mpi {

enum class type_class : std::uint8_t {
  none,
  signed_integer,
  unsigned_integer,
  floating,
  complex,
  logical,
  character,  ///< no operation of reductions takes it
  byte,
  pair,  ///< a value and an index, for MPI_MINLOC and MPI_MAXLOC
};

struct basic_type {
  type_class of = type_class::none;
  std::uint8_t bytes = 0;           ///< of its values, gaps left out
  std::uint8_t extent = 0;          ///< from one element of an array to the next
  std::uint8_t value_bytes = 0;     ///< of a pair: of its value
  bool has_floating_value = false;  ///< of a pair

  [[nodiscard]] constexpr bool is_one() const noexcept { return of != type_class::none; }
};

/// The type of a predefined handle; `is_one()` is false for others.
[[nodiscard]] basic_type basic_type_of(MPI_Datatype handle) noexcept;

}  // namespace weft::mpi
