// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes of C, and values of them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace differential {

/// Which predefined operations take it.
enum class family : std::uint8_t { character, integer, floating, complex, logical, multi, byte };

struct basic_type {
  const char* name;
  MPI_Datatype type;
  std::size_t size;
  std::size_t alignment;
  family of;
  bool is_signed;
  std::size_t value_bytes;  ///< `size`, but for long double, whose last bytes are padding
};

/// The order is equal for all libraries.
const std::vector<basic_type>& basic_types();
/// The number of the type of C `int`, and so on.
int find_basic(const char* name);

/// Any value, or 0 and 1 for truth values, by `stream` and `index`.
void write_value(void* to, const basic_type& of, std::uint64_t stream, std::uint64_t index);

}  // namespace differential
