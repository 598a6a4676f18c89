// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments: each returns an error class, `success` where the argument is right. checks.tsv says which
// arguments they are for.
#pragma once

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/error/error.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/operation.hpp"

namespace weft::mpi::check {

inline error_class comm(const communicator* found) noexcept {
  if (found != nullptr) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_COMM, "it is no communicator")};
}

inline error_class count(MPI_Count count) noexcept {
  if (count >= 0) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_COUNT, "count %lld", static_cast<long long>(count))};
}

inline error_class destination(const communicator& comm, int rank) noexcept {
  if (static_cast<unsigned>(rank) < comm.size || rank == MPI_PROC_NULL) [[likely]]
    return error_class::success;
  return error_class{
      fail(MPI_ERR_RANK, "destination %d in a communicator of %u rank%s", rank, comm.size, comm.size == 1 ? "" : "s")};
}

inline error_class source(const communicator& comm, int rank) noexcept {
  const bool is_member = static_cast<unsigned>(rank) < comm.size;
  if ((is_member && !comm.is_by_tag()) || rank == MPI_ANY_SOURCE || rank == MPI_PROC_NULL) [[likely]]
    return error_class::success;
  if (is_member) {
    return error_class{fail(MPI_ERR_RANK,
                            "source %d where receives take any source, by the communicator's hint "
                            "weft_assert_any_source_by_tag",
                            rank)};
  }
  return error_class{
      fail(MPI_ERR_RANK, "source %d in a communicator of %u rank%s", rank, comm.size, comm.size == 1 ? "" : "s")};
}

inline error_class root(const communicator& comm, int rank) noexcept {
  if (static_cast<unsigned>(rank) < comm.size) [[likely]]
    return error_class::success;
  return error_class{
      fail(MPI_ERR_ROOT, "root %d in a communicator of %u rank%s", rank, comm.size, comm.size == 1 ? "" : "s")};
}

inline error_class send_tag(int tag) noexcept {
  if (tag >= 0) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_TAG, "tag %d", tag)};
}

inline error_class receive_tag(const communicator& comm, int source, int tag) noexcept {
  if (tag >= 0) [[likely]]
    return error_class::success;
  if (tag == MPI_ANY_TAG) {
    if (!comm.is_by_tag() || source == MPI_PROC_NULL) return error_class::success;
    return error_class{
        fail(MPI_ERR_TAG, "any tag where receives name it, by the communicator's hint weft_assert_any_source_by_tag")};
  }
  return error_class{fail(MPI_ERR_TAG, "tag %d", tag)};
}

inline error_class op(MPI_Op op, const datatype& type) noexcept {
  if (find_reduction(op, type) != nullptr || find_operation(op) != nullptr) [[likely]]
    return error_class::success;
  return error_class{
      fail(MPI_ERR_OP, "operation %p on datatype %s", static_cast<const void*>(op), type.name().c_str())};
}

inline error_class result_pointer(const void* result) noexcept {
  if (result != nullptr) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_ARG, "a null pointer for a result")};
}

}  // namespace weft::mpi::check
