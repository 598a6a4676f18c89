// SPDX-License-Identifier: BSD-3-Clause
// Options of a device; a runtime takes them, too, for its default device.
#pragma once

#include <cstddef>
#include <optional>

#include "weft/progress_policy.hpp"

namespace weft {

/// Options of `device`.
struct device_options {
  /// Whether several threads may use the device at once. A device of one thread's own needs no atomic operations.
  bool shared = true;
  /// Whether only messages that name the device arrive at it. Else also messages that name none do, of the program and
  /// of the library, by the indices of their senders: a device that is polled seldom would hold them up.
  bool only_named = false;
  /// Which other devices a call of `progress()` polls if it finds nothing on this one. If not given: the runtime's
  /// policy (`WEFT_PROGRESS_POLICY`), which is `local` by default. Other devices' threads poll only shared devices.
  std::optional<progress_policy> policy{};
  /// Cells of each ring from this device to a device in shared memory, and of its own ring: so many messages may be
  /// under way, then a post answers *retry*. A power of two from 8 to the runtime's `ring_cells` (`WEFT_RING_CELLS`),
  /// which it is if not given. Fewer cells stay in a cache. A device that comes after others takes the index of one
  /// with as many cells, if it can; else it has as many cells as the device that had its index first. Not used over
  /// libfabric.
  std::optional<std::size_t> ring_cells{};
};

}  // namespace weft
