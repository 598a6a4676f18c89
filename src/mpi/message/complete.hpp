// SPDX-License-Identifier: BSD-3-Clause
// Waiting for requests and testing them: for one request, for several (`_all`, `_any`, `_some`), and without completing
// them (`get_status`). Null requests and inactive ones count as complete, with empty statuses (3.7.3).
//
// Arguments are checked by the callers, the entry points: handles are null or of requests.
#pragma once

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/objects/request.hpp"

namespace weft::mpi {

int wait(rank_state& rank, MPI_Request* handle, MPI_Status* status) noexcept;
int test(rank_state& rank, MPI_Request* handle, int* flag, MPI_Status* status) noexcept;
int get_status(rank_state& rank, MPI_Request handle, int* flag, MPI_Status* status) noexcept;

int wait_all(rank_state& rank, int count, MPI_Request* all, MPI_Status* statuses) noexcept;
int wait_any(rank_state& rank, int count, MPI_Request* all, int* index, MPI_Status* status) noexcept;
int wait_some(rank_state& rank, int count, MPI_Request* all, int* done_count, int* indices,
              MPI_Status* statuses) noexcept;
int test_all(rank_state& rank, int count, MPI_Request* all, int* flag, MPI_Status* statuses) noexcept;
int test_any(rank_state& rank, int count, MPI_Request* all, int* index, int* flag, MPI_Status* status) noexcept;
int test_some(rank_state& rank, int count, MPI_Request* all, int* done_count, int* indices,
              MPI_Status* statuses) noexcept;
int get_status_all(rank_state& rank, int count, const MPI_Request* all, int* flag, MPI_Status* statuses) noexcept;
int get_status_any(rank_state& rank, int count, const MPI_Request* all, int* index, int* flag,
                   MPI_Status* status) noexcept;
int get_status_some(rank_state& rank, int count, const MPI_Request* all, int* done_count, int* indices,
                    MPI_Status* statuses) noexcept;

/// Completes a request that is done: writes the status, and releases the request, or makes it inactive if it is
/// persistent. Returns the error class of the operation.
int complete(rank_state& rank, MPI_Request& handle, request& req, MPI_Status* status) noexcept;

}  // namespace weft::mpi
