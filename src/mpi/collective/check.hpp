// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments of collectives. Which of them count depends on the rank and on MPI_IN_PLACE, so that the
// functions of collectives call these themselves.
#pragma once

#include <cstdint>

#include "mpi.h"
#include "mpi/check/communication.hpp"
#include "mpi/check/types.hpp"
#include "mpi/collective/refusal.hpp"
#include "mpi/datatype/datatype.hpp"

namespace weft::mpi::check {

inline error_class given_array(bool is_null, const char* contents) noexcept {
  if (!is_null) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_ARG, "a null pointer for the array of %s", contents)};
}

/// The bytes of the data. **Errors**: `refusal`.
inline std::uint64_t bytes_of(MPI_Count count, const datatype& type) {
  std::int64_t bytes = 0;
  require(check::count(count));
  if (!type.try_bytes_of(count, bytes)) [[unlikely]]
    throw refusal{
        fail(MPI_ERR_COUNT, "%lld elements have more bytes than 64 bits count", static_cast<long long>(count))};
  return static_cast<std::uint64_t>(bytes);
}

/// Whether the block that a member sends to itself is as long as its receive.
inline error_class equal_bytes(std::uint64_t sent, std::uint64_t received) noexcept {
  if (sent == received) [[likely]]
    return error_class::success;
  return error_class{fail(sent > received ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
                          "this rank sends %llu bytes to itself and receives %llu",
                          static_cast<unsigned long long>(sent), static_cast<unsigned long long>(received))};
}

}  // namespace weft::mpi::check
