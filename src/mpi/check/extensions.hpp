// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments of the extensions.
#pragma once

#include "mpi.h"
#include "mpi/datatype/error_class.hpp"
#include "mpi/error/error.hpp"
#include "mpi/objects/stream.hpp"
#include "mpix.h"

namespace weft::mpi::check {

inline error_class stream(MPIX_Stream handle) noexcept {
  if (handle == MPIX_STREAM_NULL || find_stream(handle) != nullptr) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_ARG, "it is no stream")};
}

inline error_class streams(const MPIX_Stream* all, int count) noexcept {
  if (count < 0) return error_class::success;  // another check is for it
  if (all == nullptr && count > 0) return error_class{fail(MPI_ERR_ARG, "a null pointer for %d streams", count)};
  for (int index = 0; index < count; ++index) {
    if (const error_class error = check::stream(all[index]); error != error_class::success) return error;
  }
  return error_class::success;
}

inline error_class async_thing(MPIX_Async_thing thing) noexcept {
  return thing != nullptr ? error_class::success : error_class{fail(MPI_ERR_ARG, "a null pointer for the hook")};
}

}  // namespace weft::mpi::check
