// SPDX-License-Identifier: BSD-3-Clause
// The extensions of MPI that the program calls, from `mpix.h` or, with MPICH 5, from `mpi.h`.
#pragma once

#include <mpi.h>
#if __has_include(<mpix.h>)
#include <mpix.h>
#endif

#include <string>

namespace mpi_async {

// Whether the library makes streams: the names are looked up when the templates are used, so they may be absent.
template <class Stream>
concept created_stream = requires(Stream& made) {
  MPIX_Stream_create(MPI_INFO_NULL, &made);
  MPIX_Stream_free(&made);
};

inline constexpr bool has_streams = created_stream<MPIX_Stream>;

/// The text of an error that an MPI function has returned.
[[nodiscard]] inline std::string error_text(int code) {
  std::string out(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, out.data(), &length);
  out.resize(static_cast<std::size_t>(length));
  return out;
}

}  // namespace mpi_async
