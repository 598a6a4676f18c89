// SPDX-License-Identifier: BSD-3-Clause
// How the functions of collectives refuse an argument, wherever they find it.
#pragma once

#include "mpi/objects/error.hpp"

namespace weft::mpi {

/// Thrown with an error class, for which `fail` has noted the reason. `carry_out` catches it.
struct refusal {
  int error_class;
};

/// Throws what a check has found, unless it is MPI_SUCCESS.
inline void require(int error_class) {
  if (error_class != MPI_SUCCESS) [[unlikely]]
    throw refusal{error_class};
}

}  // namespace weft::mpi
