// SPDX-License-Identifier: BSD-3-Clause
// Error classes of MPI, with the values of its standard ABI. Those have names here that datatypes need; a check of
// arguments gives any of them.
#pragma once

namespace weft::mpi {

/// `success`: there is no error.
enum class [[nodiscard]] error_class : int{
    success = 0,
    buffer = 1,
    count = 2,
    type = 3,
    dims = 12,
    argument = 13,
    truncate = 15,
    no_memory = 39,
    unsupported_datarep = 54,
    value_too_large = 59,
};

}  // namespace weft::mpi
