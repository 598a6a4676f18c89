// SPDX-License-Identifier: BSD-3-Clause
// Counts of elements and other fields of statuses.
#pragma once

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"

namespace weft::mpi {

/// The number of elements that a status tells of, or MPI_UNDEFINED.
int get_count(const MPI_Status& status, const datatype& type, int* count) noexcept;
int get_count(const MPI_Status& status, const datatype& type, MPI_Count* count) noexcept;
int test_cancelled(const MPI_Status& status, int* flag) noexcept;

/// Sets the result of MPI_Get_elements, and of MPI_Test_cancelled. `status` may not be MPI_STATUS_IGNORE, which is an
/// error.
int set_elements(MPI_Status* status, const datatype& type, MPI_Count count) noexcept;
int set_cancelled(MPI_Status* status, int flag) noexcept;
/// A field that programs can also write themselves.
int set_field(MPI_Status* status, int MPI_Status::*field, int value) noexcept;

}  // namespace weft::mpi
