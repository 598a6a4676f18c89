// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create.
#pragma once

namespace weft::mpi {

/// Divides `processes` among the dimensions whose length is 0: as equal as can be, in descending order.
int create_dimensions(int processes, int count, int* lengths) noexcept;

}  // namespace weft::mpi
