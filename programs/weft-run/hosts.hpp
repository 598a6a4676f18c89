// SPDX-License-Identifier: BSD-3-Clause
// Hosts that a command line names: weft-run starts ranks on its own machine alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::run {

struct named_host {
  std::string name;
  std::uint32_t slots = 1;  ///< how many ranks fit there, as the user says
};

/// Reads `a,b:4`, or several names with blanks between them.
[[nodiscard]] std::vector<named_host> read_hosts(std::string_view list);

/// Reads a file with a host on each line, as in `a slots=4` or `b:2`; `#` begins a comment. Nothing, with errno
/// set, if the file can't be read.
[[nodiscard]] std::optional<std::vector<named_host>> read_host_file(const std::string& path);

/// Whether it is a name or an address of this machine, as far as the machine knows without asking others.
[[nodiscard]] bool is_this_machine(const std::string& name);

}  // namespace weft::run
