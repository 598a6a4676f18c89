// SPDX-License-Identifier: BSD-3-Clause
// What the reports of MPI programs have in common.
#pragma once

#include <string>

namespace mpi_report {

/// The first line of the text by which the MPI library describes itself. **Threads**: any, also before `MPI_Init`.
[[nodiscard]] std::string library_version();

/// A string of JSON; control characters are left out.
[[nodiscard]] std::string quoted(const std::string& text);

}  // namespace mpi_report
