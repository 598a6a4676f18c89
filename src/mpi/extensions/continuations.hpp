// SPDX-License-Identifier: BSD-3-Clause
// Continuations of the program (yan2025-mpi-extensions, 2.3 and 3.3). Arguments are checked by the callers, the entry
// points, but for the requests.
#pragma once

#include "mpi/objects/continuation.hpp"
#include "mpix.h"

namespace weft::mpi {

/// What a program attaches to requests.
struct continuation_call {
  MPIX_Continue_cb_function* callback;
  void* data;
  int flags;
  MPI_Request home;  // the continuation request, or null
};

/// MPIX_Continue_init.
int make_continuation_request(rank_state& rank, int flags, int polls_max, MPI_Request* request) noexcept;
/// MPIX_Continue and MPIX_Continueall: the callback runs once all these requests are complete. An error class leaves
/// the requests as they were.
int attach_continuation(rank_state& rank, int count, MPI_Request* requests, const continuation_call& call,
                        MPI_Status* statuses) noexcept;
/// MPI_Finalize: runs continuations that may run, and detaches all others from their requests.
int end_continuations(rank_state& rank) noexcept;

}  // namespace weft::mpi
