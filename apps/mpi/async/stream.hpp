// SPDX-License-Identifier: BSD-3-Clause
// A stream of a thread's own (zhou2024, 3.1).
#pragma once

#include <stdexcept>

#include "extensions.hpp"

namespace mpi_async {

// Errors without a communicator go to the handler of MPI_COMM_SELF, in older libraries to that of MPI_COMM_WORLD.
class returned_errors {
 public:
  returned_errors() {
    for (auto& [comm, before] : kept_) {
      MPI_Comm_get_errhandler(comm, &before);
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
  }
  ~returned_errors() {
    for (auto& [comm, before] : kept_) {
      MPI_Comm_set_errhandler(comm, before);
      MPI_Errhandler_free(&before);
    }
  }
  returned_errors(const returned_errors&) = delete;
  returned_errors& operator=(const returned_errors&) = delete;

 private:
  struct kept {
    MPI_Comm comm;
    MPI_Errhandler before;
  };
  kept kept_[2] = {{MPI_COMM_SELF, MPI_ERRHANDLER_NULL}, {MPI_COMM_WORLD, MPI_ERRHANDLER_NULL}};
};

/// **Errors**: std::runtime_error where the library has no stream left. **Threads**: the main one makes and frees it.
template <class Stream>
class own_stream {
 public:
  own_stream() {
    if constexpr (created_stream<Stream>) {
      const returned_errors returned;
      if (const int code = MPIX_Stream_create(MPI_INFO_NULL, &stream_); code != MPI_SUCCESS)
        throw std::runtime_error{
            "MPIX_Stream_create: " + error_text(code) +
            " (a library has a limited number of streams; MPICH as many as MPIR_CVAR_CH4_RESERVE_VCIS says)"};
    }
  }
  ~own_stream() {
    if constexpr (created_stream<Stream>) MPIX_Stream_free(&stream_);
  }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;

  [[nodiscard]] Stream get() const noexcept { return stream_; }

 private:
  Stream stream_ = MPIX_STREAM_NULL;
};

}  // namespace mpi_async
