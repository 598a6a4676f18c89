// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments of the extensions.
#pragma once

#include "mpi.h"
#include "mpi/datatype/error_class.hpp"
#include "mpi/error/error.hpp"
#include "mpi/objects/request.hpp"
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

inline error_class continuation_request_or_null(MPI_Request handle) noexcept {
  if (handle == MPI_REQUEST_NULL) return error_class::success;
  if (!is_predefined(handle) && reinterpret_cast<const request*>(handle)->kind == object_kind::continuation_request)
      [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_REQUEST, "it is no continuation request")};
}

/// `known`: the flags that the function takes.
inline error_class continuation_flags(int flags, int known) noexcept {
  if ((flags & ~known) == 0) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_ARG, "%#x is no flag of this function", static_cast<unsigned>(flags & ~known))};
}
inline error_class flags_of_init(int flags) noexcept { return continuation_flags(flags, MPIX_CONT_POLL_ONLY); }
inline error_class flags_of_continue(int flags) noexcept {
  return continuation_flags(flags, MPIX_CONT_IMMEDIATE | MPIX_CONT_FORGET | MPIX_CONT_DEFER_COMPLETE |
                                       MPIX_CONT_REQBUF_VOLATILE | MPIX_CONT_INVOKE_FAILED);
}

inline error_class polls_max(int count) noexcept {
  if (count >= 0) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_ARG, "%d is no number of continuations", count)};
}

}  // namespace weft::mpi::check
