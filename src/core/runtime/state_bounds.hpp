// SPDX-License-Identifier: BSD-3-Clause
// How many operations, receives and descriptions of unexpected messages a runtime may have, and the bytes for all of
// them.
#pragma once

#include <cstdint>

#include "base/config.hpp"
#include "core/memory/pool_bounds.hpp"

namespace weft::core {

struct state_bounds {
  std::uint64_t bytes_max;
  pool_bounds posts;  // and, once more, operations that answer peers
  pool_bounds receives;
  pool_bounds unexpected;
};

/// `is_default_shared`: whether the default device is shared; one that is not keeps some receives.
/// **Errors**: configuration, if a set number of bytes is less than what a rank needs at the beginning.
[[nodiscard]] state_bounds state_bounds_of(const base::settings& settings, bool is_default_shared = true);

}  // namespace weft::core
