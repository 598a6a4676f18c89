// SPDX-License-Identifier: BSD-3-Clause
// What objects have in common whose errors go to an error handler of their own.
#pragma once

#include "mpi/error/error_handler.hpp"
#include "mpi/handle/object.hpp"

namespace weft::mpi {

/// The base of such an object: a communicator, or MPI_FILE_NULL. `raise` (rank/raise.hpp) calls its handler.
struct error_owner {
  object_kind kind;  // first: handles of other kinds of objects are found by it
  error_handler_slot error_handler;
};

}  // namespace weft::mpi
