// SPDX-License-Identifier: BSD-3-Clause
// Finds other copies of Weft in this process: the archive in the program, and a shared library that something else
// uses.
//
// Each copy has state of its own. So it joins the job alone, which a launcher allows once in a process, and doesn't
// know the other copy's ranks and devices. Each copy has an ELF note, by which the others find it.
#pragma once

#include <string>
#include <vector>

namespace weft::base {

/// The files that have a copy of Weft: the program, or shared libraries that are loaded now. **Threads**: any.
[[nodiscard]] std::vector<std::string> files_with_weft();

/// Logs a warning that names the files, if there are several copies. **Threads**: any.
void warn_of_copies() noexcept;
/// **Errors**: `boot_failed`, which names the files, if there are several copies. **Threads**: any.
void refuse_copies();

}  // namespace weft::base
