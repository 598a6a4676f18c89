// Lets one thread at a time poll a device, and lets others find out that nobody is polling any more.
//
// Cost to the poller: one exchange on a shared device; two plain stores on a device of one's own. Whoever withdraws
// something that a poller may be using pays the rest: a fence in every thread (membarrier) and a wait for each gate.
#pragma once

#include <atomic>

#include "base/backoff.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::core {

class alignas(detail::cache_line_bytes) poll_gate {
 public:
  explicit poll_gate(bool shared) noexcept : shared_{shared} {}

  /// Whether the calling thread is inside: in a handler.
  [[nodiscard]] bool is_inside() const noexcept {
    // [gate.self] relaxed: only this thread writes its own address.
    return inside_.load(std::memory_order_relaxed) == this_thread();
  }

  [[nodiscard]] bool try_enter() noexcept {
    // [gate.look] relaxed: a hint on a shared device, so that contenders read the line instead of taking it; on a
    // device of one's own only this thread writes here, and a handler that polls again finds itself inside.
    if (inside_.load(std::memory_order_relaxed) != nobody) return false;
    if (!shared_) [[likely]] {  // next to the exchange of a shared one a jump counts little
      // [gate.own_enter] relaxed: ordered before what follows by the fence of whoever waits in `wait_until_left`.
      inside_.store(this_thread(), std::memory_order_relaxed);
      // [gate.own_fence] seq_cst -> [gate.fence_all]: for the compiler; the waiter's membarrier is the core's fence.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      return true;
    }
    const void* expected = nobody;
    // [gate.enter] acquire <- [gate.leave]: what the last poller did.
    return inside_.compare_exchange_strong(expected, this_thread(), std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }

  void leave() noexcept {
    // [gate.leave] release -> [gate.enter], [gate.wait]: what this poller did.
    inside_.store(nobody, std::memory_order_release);
  }

  /// Returns once a poller that was inside when `fence_all_threads` was through has left, unless it is the calling
  /// thread itself, in a handler.
  void wait_until_left() const noexcept {
    base::backoff waiting;
    while (!is_left()) waiting.pause();
  }
  /// Whether no poller is inside but the calling thread.
  [[nodiscard]] bool is_left() const noexcept {
    // [gate.wait] acquire <- [gate.leave]: the poller is done with what was withdrawn.
    const void* const poller = inside_.load(std::memory_order_acquire);
    return poller == nobody || poller == this_thread();
  }

 private:
  static constexpr const void* nobody = nullptr;

  // An address that no other living thread has.
  [[nodiscard]] static const void* this_thread() noexcept { return &detail::cached_thread_slot; }

  const bool shared_;
  std::atomic<const void*> inside_{nobody};
};

/// Registers the process for the fences below; called once per runtime, before any device is made.
void prepare_fences() noexcept;

/// Every thread of this process passes a full fence before this returns.
void fence_all_threads() noexcept;

/// Every thread of every process that has called `prepare_fences` does; false where the kernel can't do that.
[[nodiscard]] bool fence_all_processes() noexcept;

}  // namespace weft::core
