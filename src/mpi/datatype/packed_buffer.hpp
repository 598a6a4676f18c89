// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack and MPI_Unpack, into bytes as they are and into external32.
//
// All functions: **Blocking**: never. **Threads**: any. **Errors**: `count` for a negative one, `argument` for a null
// buffer of data or for a position outside of the packed bytes, `truncate` where they are too short (nothing is written
// then), `value_too_large` where a size does not fit in 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/datatype/datatype.hpp"
#include "mpi/datatype/error_class.hpp"

namespace weft::mpi {

/// How the packed bytes look.
enum class packing : bool { native, external32 };

/// The bytes that `count` elements take.
error_class packed_bytes_of(const datatype& type, std::int64_t count, packing format, std::int64_t& bytes) noexcept;

/// Appends `count` elements at `address` to the packed bytes `to`, from `position` on, which moves behind them.
error_class pack(const datatype& type, const void* address, std::int64_t count, packing format, void* to,
                 std::int64_t to_bytes, std::int64_t& position) noexcept;

/// Reads them from `position` on, which moves behind them.
error_class unpack(const datatype& type, void* address, std::int64_t count, packing format, const void* from,
                   std::int64_t from_bytes, std::int64_t& position) noexcept;

}  // namespace weft::mpi
