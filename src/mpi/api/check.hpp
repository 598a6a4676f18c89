// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments: each returns MPI_SUCCESS or an error class. checks.tsv says which arguments they are for.
#pragma once

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/operation.hpp"

namespace weft::mpi::check {

inline int is_communicator(const communicator* found) noexcept {
  if (found != nullptr) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_COMM, "it is no communicator");
}

inline int is_count(MPI_Count count) noexcept {
  if (count >= 0) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_COUNT, "count %lld", static_cast<long long>(count));
}

inline int is_destination(const communicator& comm, int rank) noexcept {
  if (static_cast<unsigned>(rank) < comm.size || rank == MPI_PROC_NULL) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_RANK, "destination %d in a communicator of %u rank%s", rank, comm.size,
              comm.size == 1 ? "" : "s");
}

inline int is_source(const communicator& comm, int rank) noexcept {
  if (static_cast<unsigned>(rank) < comm.size || rank == MPI_ANY_SOURCE || rank == MPI_PROC_NULL) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_RANK, "source %d in a communicator of %u rank%s", rank, comm.size, comm.size == 1 ? "" : "s");
}

inline int is_root(const communicator& comm, int rank) noexcept {
  if (static_cast<unsigned>(rank) < comm.size) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_ROOT, "root %d in a communicator of %u rank%s", rank, comm.size, comm.size == 1 ? "" : "s");
}

inline int is_tag_of_send(int tag) noexcept {
  if (tag >= 0) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_TAG, "tag %d", tag);
}

inline int is_tag_of_receive(int tag) noexcept {
  if (tag >= 0 || tag == MPI_ANY_TAG) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_TAG, "tag %d", tag);
}

inline int is_operation(MPI_Op op, const datatype& type) noexcept {
  if (find_reduction(op, type) != nullptr || find_operation(op) != nullptr) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_OP, "operation %p on datatype %s", static_cast<const void*>(op), type.name().c_str());
}

inline int is_given(const void* result) noexcept {
  if (result != nullptr) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "a null pointer for a result");
}

}  // namespace weft::mpi::check
