// SPDX-License-Identifier: BSD-3-Clause
// external32, the representation of data that all MPI libraries share (MPI 5.0, 15.5.2): big endian numbers of fixed
// sizes, one behind the other.
//
// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/datatype/datatype.hpp"

namespace weft::mpi {

/// Writes `count` elements of the type at `address` to `to`, which has `external_bytes_of` the type for each. Integers
/// that are shorter there lose their upper bytes, as the standard says.
void write_external(const datatype& type, const void* address, std::int64_t count, std::byte* to) noexcept;

/// Reads them back. Long doubles lose the bits that this machine's have not, rounded to the nearest.
void read_external(const datatype& type, void* address, std::int64_t count, const std::byte* from) noexcept;

}  // namespace weft::mpi
