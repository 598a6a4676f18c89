// SPDX-License-Identifier: BSD-3-Clause
// Only of puts, gets and atomics, at their origin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/operation/atomic_command.hpp"

namespace weft::core {

struct transfer_part {
  std::byte* mapped = nullptr;      // the target's memory, if it is mapped here
  std::uint64_t region = 0;         // the name of that region
  std::uint64_t region_offset = 0;  // offset of that memory in the region
  atomic_command atomic;
};

}  // namespace weft::core
