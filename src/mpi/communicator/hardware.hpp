// SPDX-License-Identifier: BSD-3-Clause
// The hardware on which the calling process runs, as Linux describes it under /sys/devices/system.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::mpi {

/// Kinds of resources, the outermost one first. Names are hwloc's.
enum class hardware_kind : std::uint8_t { package, numa_node, l3_cache, l2_cache, core, processor };
inline constexpr std::array<std::string_view, 6> names_of_hardware{"Package", "NUMANode", "L3Cache",
                                                                   "L2Cache", "Core",     "PU"};

/// The kind of this name, with or without "hwloc://" before it.
[[nodiscard]] std::optional<hardware_kind> hardware_of(std::string_view name) noexcept;

/// The number on this node of the one such resource that has all processors on which the process may run; nothing if it
/// may run on several, or if Linux does not say. **Errors**: `std::bad_alloc`.
[[nodiscard]] std::optional<std::uint32_t> own_hardware(hardware_kind kind);

}  // namespace weft::mpi
