// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms.
#pragma once

#include <span>

#include "coll/schedule/algorithm.hpp"

namespace weft::coll {

/// All algorithms, by operation.
[[nodiscard]] std::span<const algorithm> algorithms() noexcept;

}  // namespace weft::coll
