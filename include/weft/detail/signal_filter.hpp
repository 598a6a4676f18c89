// SPDX-License-Identifier: BSD-3-Clause
// Which signals wake a thread that sleeps in a wait, for libraries over Weft's public headers that have one completion
// object for many waits (src/mpi).
#pragma once

namespace weft::detail {

/// Asked by a thread that has signalled the object, while the waiting thread sleeps; under a lock of Weft's, so it only
/// looks. **Threads**: any.
struct signal_filter {
  /// Whether the condition of the wait may be true now. Null: always.
  bool (*may_end)(const void* wait) noexcept = nullptr;
  const void* wait = nullptr;

  [[nodiscard]] bool passes() const noexcept { return may_end == nullptr || may_end(wait); }
};

}  // namespace weft::detail
