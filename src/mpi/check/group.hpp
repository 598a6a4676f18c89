// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments of the chapters on groups, communicators and topologies.
#pragma once

#include "mpi.h"
#include "mpi/datatype/error_class.hpp"
#include "mpi/error/error.hpp"
#include "mpi/group/process_group.hpp"
#include "mpi/objects/communicator.hpp"

namespace weft::mpi::check {

inline error_class group(const group_handle* found) noexcept {
  return found != nullptr ? error_class::success : error_class{fail(MPI_ERR_GROUP, "it is no group")};
}

/// The count of a list's elements is not negative.
inline error_class length(int count) noexcept {
  return count >= 0 ? error_class::success : error_class{fail(MPI_ERR_ARG, "a list of %d elements", count)};
}

inline error_class list(const void* list, int count) noexcept {
  if (list != nullptr || count == 0) return error_class::success;
  return error_class{fail(MPI_ERR_ARG, "a null pointer for a list of %d elements", count)};
}

inline error_class rank(const communicator& comm, int rank) noexcept {
  if (static_cast<unsigned>(rank) < comm.size) return error_class::success;
  return error_class{
      fail(MPI_ERR_RANK, "rank %d in a communicator of %u rank%s", rank, comm.size, comm.size == 1 ? "" : "s")};
}

}  // namespace weft::mpi::check
