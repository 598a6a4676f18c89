// SPDX-License-Identifier: BSD-3-Clause
// A fiber's wait for one event, for libraries over Weft's public headers that have their own operations (src/mpi).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft {

class device;

namespace detail {

/// What the slot for a waiting fiber of a new operation has in it: `never_awaited` until a thread of this process uses
/// a suspender, as before no wait is a fiber's; 0 from then on.
extern std::atomic<std::uintptr_t> fresh_wait_slot;
inline constexpr std::uintptr_t never_awaited = 2;

/// One event for which the calling fiber waits; it lies on the fiber's stack.
///
/// Cost: the fiber is switched away from and back to; nothing is allocated, and no thread polls for it.
class fiber_wait {
 public:
  fiber_wait() noexcept;
  ~fiber_wait();
  fiber_wait(const fiber_wait&) = delete;
  fiber_wait& operator=(const fiber_wait&) = delete;

  /// Whether the caller is a fiber, outside of callbacks, and another thread makes progress on `dev` while it is
  /// suspended.
  [[nodiscard]] bool can_suspend(const device& dev) const noexcept;
  /// Returns once the event has been set. `function`: which waits, for reports; of static storage. `dev`: whose
  /// messages may set it. **Blocking**: until then; other fibers run meanwhile.
  void wait(const char* function, device& dev) noexcept;
  /// Sets the event. The fiber may have ended before this returns. **Blocking**: never. **Threads**: any, once.
  void set() noexcept;

 private:
  alignas(8) std::byte storage_[24];
};

}  // namespace detail
}  // namespace weft
