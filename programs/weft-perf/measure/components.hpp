// SPDX-License-Identifier: BSD-3-Clause
// The library's parts alone: operations per second of one thread and of two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft-perf/report/rounds.hpp"

namespace weft::perf {

/// `pool`, `matching`, `queue`, `array`.
[[nodiscard]] const std::vector<std::string>& component_names();

/// One round: an operation is a get and a put of a packet; two inserts that match; a push and a pop; a read. Each
/// thread on a core of its own. The hand-over is measured before and after.
[[nodiscard]] sample measure_component(const std::string& name, std::uint32_t threads, double seconds);

}  // namespace weft::perf
