// SPDX-License-Identifier: BSD-3-Clause
// Weft's MPI library for programs that were linked with another one of the standard ABI.
#pragma once

#include "weft-run/options.hpp"

namespace weft::run {

/// Lets all ranks load Weft's libmpi_abi.so.1 first, so that the loader takes it for that of the program, whatever run
/// path the program has. **Errors** weft::error: there is no such library beside weft-run, or it can't be named.
void preload_mpi(options& chosen);

}  // namespace weft::run
