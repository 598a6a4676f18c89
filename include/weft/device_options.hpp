// Options of a device; a runtime takes them, too, for its default device.
#pragma once

#include <optional>

#include "weft/progress_policy.hpp"

namespace weft {

/// Options of `device`.
struct device_options {
  /// Whether several threads may use the device at once. A device of one thread's own needs no atomic operations.
  bool shared = true;
  /// Which other devices a call of `progress()` polls if it finds nothing on this one. If not given: the runtime's
  /// policy (`WEFT_PROGRESS_POLICY`), which is `local` by default. Other devices' threads poll only shared devices.
  std::optional<progress_policy> policy{};
};

}  // namespace weft
