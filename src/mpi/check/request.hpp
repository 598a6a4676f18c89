// SPDX-License-Identifier: BSD-3-Clause
// Checks of requests, statuses and arrays of them.
#pragma once

#include "mpi.h"
#include "mpi/datatype/error_class.hpp"
#include "mpi/error/error.hpp"
#include "mpi/objects/request.hpp"

namespace weft::mpi::check {

/// Not of a null request, which some functions take, nor of one that a continuation completes.
inline error_class request_handle(MPI_Request handle) noexcept {
  if (find_request(handle) != nullptr) [[likely]]
    return error_class::success;
  return error_class{fail_request(handle)};
}

inline error_class request_or_null(MPI_Request handle) noexcept {
  return handle == MPI_REQUEST_NULL ? error_class::success : check::request_handle(handle);
}

inline error_class requests_or_null(const MPI_Request* all, int count) noexcept {
  if (count < 0) return error_class::success;  // another check is for it
  if (all == nullptr && count > 0) return error_class{fail(MPI_ERR_ARG, "a null pointer for %d requests", count)};
  for (int index = 0; index < count; ++index) {
    if (const error_class error = check::request_or_null(all[index]); error != error_class::success) [[unlikely]]
      return error;
  }
  return error_class::success;
}

/// Of requests to start, also of ones that a continuation will complete.
inline error_class requests(const MPI_Request* all, int count) noexcept {
  if (count < 0) return error_class::success;
  if (all == nullptr && count > 0) return error_class{fail(MPI_ERR_ARG, "a null pointer for %d requests", count)};
  for (int index = 0; index < count; ++index) {
    if (find_any_request(all[index]) == nullptr) [[unlikely]]
      return error_class{fail_request(all[index])};
  }
  return error_class::success;
}

inline error_class array(const void* address, int count) noexcept {
  if (address != nullptr || count <= 0) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_ARG, "a null pointer for an array of %d", count)};
}

inline error_class status(const MPI_Status* status) noexcept {
  if (status != MPI_STATUS_IGNORE) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_ARG, "it is no status")};
}

}  // namespace weft::mpi::check
