// SPDX-License-Identifier: BSD-3-Clause
// What objects have in common whose errors go to an error handler of their own.
#pragma once

#include "mpi/error/error_handler.hpp"
#include "mpi/error/lifetime.hpp"
#include "mpi/handle/object.hpp"

namespace weft::mpi {

/// The base of such an object: a communicator, or MPI_FILE_NULL. Requests refer to it, and `raise` (rank/raise.hpp)
/// calls its handler.
struct error_owner {
  /// A request that refers to it holds a reference until it is released. Blocking calls need none: their caller has
  /// the handle. **Threads**: any, also inside progress.
  void add_reference() noexcept { life.add_reference(); }
  void remove_reference() noexcept { life.remove_reference(*this); }

  object_kind kind;  // first: handles of other kinds of objects are found by it
  error_handler_slot error_handler{};
  lifetime life{};
};

}  // namespace weft::mpi
