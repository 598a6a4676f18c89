// SPDX-License-Identifier: BSD-3-Clause
// The libraries that a program's file asks the loader for.
#pragma once

#include <string>
#include <vector>

namespace weft::run {

/// The names in the DT_NEEDED entries of an ELF file of this machine's word size; none of any other file. Files are
/// input like any other: numbers in them are checked.
[[nodiscard]] std::vector<std::string> needed_libraries(const std::string& path);

/// Whether the file has the text; false if it can't be read.
[[nodiscard]] bool has_text(const std::string& path, const std::string& text);

}  // namespace weft::run
