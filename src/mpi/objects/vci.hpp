// SPDX-License-Identifier: BSD-3-Clause
// Virtual communication interfaces (VCIs; yan2025-mpi-extensions, 3): the devices of a rank, among which its
// communicators are dealt out. Threads that use communicators of different VCIs share neither rings nor a poll gate.
#pragma once

#include <cstdint>
#include <optional>

#include "mpi/objects/pending_messages.hpp"
#include "mpi/objects/request.hpp"
#include "weft/device.hpp"
#include "weft/progress_policy.hpp"

namespace weft::mpi {

/// A device, and the messages that wait for room on it.
struct vci {
  std::uint32_t number;
  weft::device& device;
  pending_messages pending;
};

/// Their number, and the progress on them.
struct vci_options {
  std::uint32_t count = 1;
  /// The policy of their devices; none: the runtime's.
  std::optional<progress_policy> policy{};
  /// A call makes progress on all of them; else on those of its own operations alone.
  bool has_global_progress = true;
  /// A thread makes progress on each. Their devices are shared then, whatever the thread level.
  bool have_threads = false;
};
/// By the settings. **Errors**: `configuration` if these contradict each other.
[[nodiscard]] vci_options choose_vcis(int thread_level);

}  // namespace weft::mpi
