// SPDX-License-Identifier: BSD-3-Clause
// The kind of bootstrap that a process's environment asks for, or why there is none.
#pragma once

#include <cstdint>
#include <string>

#include "base/config.hpp"

namespace weft::boot {

/// The answer; rank and size are meaningful where the kind is not `single`.
struct job_description {
  base::boot_method method = base::boot_method::single;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  int pmi_fd = -1;
};

/// Reads the launchers' variables in an environment block; `settings` are those of the same block.
/// **Errors** configuration: Weft's own variables contradict each other. boot_failed: a launcher promised several ranks
/// and offers no protocol that is supported, or is wrong about its own; the text names the variables found.
[[nodiscard]] job_description describe_job(const char* const* environment, const base::settings& settings);

}  // namespace weft::boot
