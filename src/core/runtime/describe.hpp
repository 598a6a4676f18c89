// SPDX-License-Identifier: BSD-3-Clause
// Words for people about objects that something waits for, and about the counts of a device.
#pragma once

#include <cstdint>
#include <string>

#include "weft/completion.hpp"
#include "weft/counters.hpp"

namespace weft::core {

/// Text such as `a counter of value 3, which no operation will signal`. The object lives meanwhile.
[[nodiscard]] std::string to_text(const completion& object);

/// The counts of device `index` of `rank`.
[[nodiscard]] std::string counters_text(std::uint32_t rank, std::uint32_t index, const device_counters& counted);

}  // namespace weft::core
