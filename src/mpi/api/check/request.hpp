// SPDX-License-Identifier: BSD-3-Clause
// Checks of requests, statuses and arrays of them.
#pragma once

#include "mpi.h"
#include "mpi/objects/error.hpp"
#include "mpi/objects/request.hpp"

namespace weft::mpi::check {

/// Not of a null request, which some functions take.
inline int is_request(MPI_Request handle) noexcept {
  if (find_request(handle) != nullptr) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_REQUEST, "it is no request");
}

inline int is_request_or_null(MPI_Request handle) noexcept {
  return handle == MPI_REQUEST_NULL ? MPI_SUCCESS : is_request(handle);
}

inline int are_requests_or_null(const MPI_Request* all, int count) noexcept {
  if (count < 0) return MPI_SUCCESS;  // another check is for it
  if (all == nullptr && count > 0) return fail(MPI_ERR_ARG, "a null pointer for %d requests", count);
  for (int index = 0; index < count; ++index) {
    if (const int error = is_request_or_null(all[index]); error != MPI_SUCCESS) [[unlikely]]
      return error;
  }
  return MPI_SUCCESS;
}

inline int are_requests(const MPI_Request* all, int count) noexcept {
  if (count < 0) return MPI_SUCCESS;
  if (all == nullptr && count > 0) return fail(MPI_ERR_ARG, "a null pointer for %d requests", count);
  for (int index = 0; index < count; ++index) {
    if (const int error = is_request(all[index]); error != MPI_SUCCESS) [[unlikely]]
      return error;
  }
  return MPI_SUCCESS;
}

inline int is_array(const void* address, int count) noexcept {
  if (address != nullptr || count <= 0) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "a null pointer for an array of %d", count);
}

inline int is_status(const MPI_Status* status) noexcept {
  if (status != MPI_STATUS_IGNORE) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "it is no status");
}

}  // namespace weft::mpi::check
