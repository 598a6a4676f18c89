// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments of the extensions.
#pragma once

#include "mpi.h"
#include "mpi/datatype/error_class.hpp"
#include "mpi/error/error.hpp"
#include "mpix.h"

namespace weft::mpi::check {

/// The default stream is the only one.
inline error_class stream(MPIX_Stream handle) noexcept {
  return handle == MPIX_STREAM_NULL ? error_class::success : error_class{fail(MPI_ERR_ARG, "it is no stream")};
}

inline error_class async_thing(MPIX_Async_thing thing) noexcept {
  return thing != nullptr ? error_class::success : error_class{fail(MPI_ERR_ARG, "a null pointer for the hook")};
}

}  // namespace weft::mpi::check
