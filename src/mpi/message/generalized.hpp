// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests (13.2): operations that the program itself completes. Arguments are checked by the callers, the
// entry points. Those of the extensions have functions by which the program makes progress, too.
#pragma once

#include "mpi.h"
#include "mpi/objects/request.hpp"
#include "mpix.h"

namespace weft::mpi {

/// Functions of the program, and the state that they get.
struct generalized_functions {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  void* state;
  MPIX_Grequest_poll_function* poll = nullptr;
  MPIX_Grequest_wait_function* wait = nullptr;
};

int start_generalized(rank_state& rank, const generalized_functions& functions, MPI_Request* request) noexcept;
/// **Threads**: any, also after the program has freed the request.
int complete_generalized(rank_state& rank, MPI_Request handle) noexcept;

}  // namespace weft::mpi
