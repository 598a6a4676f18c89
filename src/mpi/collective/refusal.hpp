// SPDX-License-Identifier: BSD-3-Clause
// How the functions of collectives refuse an argument, wherever they find it.
#pragma once

#include "mpi/datatype/error_class.hpp"
#include "mpi/error/error.hpp"

namespace weft::mpi {

/// Thrown with an error class, for which `fail` has noted the reason. `carry_out` catches it.
struct refusal {
  int error_class;
};

/// Throws the error class that a check has found, unless it is `success`.
inline void require(error_class found) {
  if (found != error_class::success) [[unlikely]]
    throw refusal{static_cast<int>(found)};
}

}  // namespace weft::mpi
