// SPDX-License-Identifier: BSD-3-Clause
// What Weft may know of the MPI library: its communicators (weft/mpi.hpp).
#pragma once

#include "mpi.h"
#include "weft/mpi.hpp"

namespace weft::mpi {

/// Describes a communicator of the calling thread's rank. False: it is none; the runtime is null before MPI_Init and
/// after MPI_Finalize.
[[nodiscard]] bool describe(MPI_Comm handle, weft::mpi_communicator& to);

}  // namespace weft::mpi
