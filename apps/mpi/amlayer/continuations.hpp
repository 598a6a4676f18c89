// SPDX-License-Identifier: BSD-3-Clause
// The continuations that the layer uses: those of the MPI library, or none.
#pragma once

#include <mpi.h>
#if __has_include(<mpix.h>)
#include <mpix.h>
#endif

namespace mpi_amlayer {

#ifdef MPIX_CONT_IMMEDIATE

inline constexpr bool has_continuations = true;

/// Calls `function(0, data)` once the request is complete, perhaps now. `request` may go at the return.
inline void continue_after(MPI_Request& request, int (*function)(int, void*), void* data, MPI_Request home) noexcept {
  MPIX_Continue(&request, function, data, MPIX_CONT_IMMEDIATE | MPIX_CONT_REQBUF_VOLATILE, MPI_STATUS_IGNORE, home);
}
/// A continuation request that is started.
inline MPI_Request make_home() noexcept {
  MPI_Request out = MPI_REQUEST_NULL;
  MPIX_Continue_init(0, 0, MPI_INFO_NULL, &out);
  MPI_Start(&out);
  return out;
}

#else

inline constexpr bool has_continuations = false;
inline void continue_after(MPI_Request&, int (*)(int, void*), void*, MPI_Request) noexcept {}
inline MPI_Request make_home() noexcept { return MPI_REQUEST_NULL; }

#endif

}  // namespace mpi_amlayer
