// Lets one thread at a time poll a device, and lets others find out that nobody is polling any more.
//
// Cost to the poller: one exchange on a shared device, two plain stores on a device of one's own, and a count in the
// same line. Whoever withdraws something that a poller may be using pays the rest: a fence in every thread (membarrier)
// and a wait for one pass of each poller. Passes are counted, as a gate that is used all the time is hardly ever seen
// free. Where the kernel forbids membarrier, pollers pay for a fence of their own in each call.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/backoff.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::core {

/// Registers the process for the kernel's fences; called once per runtime, before any device is made.
void prepare_fences() noexcept;

/// Whether `fence_all_threads` makes every thread of this process pass a fence; otherwise threads that it is meant for
/// fence themselves, by `fence_for_all`. The same from the first call on.
[[nodiscard]] bool kernel_fences_threads() noexcept;

/// Between a store and a load that may not change places in the eyes of who calls `fence_all_threads`.
inline void fence_for_all(bool kernel_fences) noexcept {
  if (kernel_fences) [[likely]] {
    // [gate.own_fence] seq_cst -> [gate.fence_all]: for the compiler; the waiter's membarrier is the core's fence.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    // [gate.own_fence] seq_cst -> [gate.fence_all]: without membarrier.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

class alignas(detail::cache_line_bytes) poll_gate {
 public:
  explicit poll_gate(bool shared, bool kernel_fences = kernel_fences_threads()) noexcept
      : is_simple_{!shared && kernel_fences}, shared_{shared}, kernel_fences_{kernel_fences} {}

  /// Whether the calling thread is inside: in a handler.
  [[nodiscard]] bool is_inside() const noexcept {
    // [gate.self] relaxed: only this thread writes its own address.
    return inside_.load(std::memory_order_relaxed) == this_thread();
  }

  [[nodiscard]] bool try_enter() noexcept {
    // [gate.look] relaxed: a hint on a shared device, so that contenders read the line instead of taking it; on a
    // device of one's own only this thread writes here, and a handler that polls again finds itself inside.
    if (inside_.load(std::memory_order_relaxed) != nobody) return false;
    if (is_simple_) [[likely]] {  // next to the exchange of a shared one a jump counts little
      // [gate.own_enter] relaxed: ordered before what follows by the fence of whoever waits for this gate.
      inside_.store(this_thread(), std::memory_order_relaxed);
      fence_for_all(true);
      return true;
    }
    return try_enter_otherwise();
  }

  void leave() noexcept {
    // [gate.passed] release -> [gate.passes]: what this poller did. Only who is inside writes here.
    passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    // [gate.heir] relaxed: nothing comes with it; mostly there is none.
    const void* const heir = heir_.load(std::memory_order_relaxed);
    // [gate.leave] release -> [gate.enter], [gate.inherit], [gate.wait]: what this poller did, and the count.
    inside_.store(heir, std::memory_order_release);
  }

  /// Inside of a shared gate, after the pass that is under way at most: its poller hands the gate over. Not for a
  /// thread that is inside already.
  class turn {
   public:
    explicit turn(poll_gate& at) noexcept : at_{&at} { at.enter_in_turn(); }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() { at_->leave(); }

   private:
    poll_gate* at_;
  };

  /// How often pollers have left. To be read after `fence_all_threads`, for `has_left_since`.
  [[nodiscard]] std::uint64_t passes() const noexcept {
    // [gate.passes] acquire <- [gate.passed]: the pollers that have left are done with what was withdrawn.
    return passes_.load(std::memory_order_acquire);
  }

  /// Whether the poller that was inside when `before` passes had ended has left, unless it is the calling thread
  /// itself, in a handler.
  [[nodiscard]] bool has_left_since(std::uint64_t before) const noexcept {
    if (passes() != before) return true;
    // [gate.wait] acquire <- [gate.leave]: the poller is done with what was withdrawn.
    const void* const poller = inside_.load(std::memory_order_acquire);
    return poller == nobody || poller == this_thread();
  }

  void wait_until_left() const noexcept {
    const std::uint64_t before = passes();
    for (base::backoff waiting; !has_left_since(before);) waiting.pause();
  }

 private:
  static constexpr const void* nobody = nullptr;

  [[nodiscard]] bool try_enter_otherwise() noexcept {
    const void* expected = nobody;
    if (!shared_) {
      // [gate.own_enter] relaxed: as above.
      inside_.store(this_thread(), std::memory_order_relaxed);
      // [gate.enter] acquire <- [gate.leave]: what the last poller did.
    } else if (!inside_.compare_exchange_strong(expected, this_thread(), std::memory_order_acquire,
                                                std::memory_order_relaxed)) {
      return false;
    }
    fence_for_all(kernel_fences_);
    return true;
  }

  // One at a time can be the heir; others wait until they are, or find the gate free.
  void enter_in_turn() noexcept {
    for (base::backoff waiting;; waiting.pause()) {
      const void* none = nobody;
      // [gate.ask] relaxed: a wish, which the next poller to leave fulfils.
      heir_.compare_exchange_strong(none, this_thread(), std::memory_order_relaxed);
      // [gate.inherit] acquire <- [gate.leave]: what the last poller did.
      if (inside_.load(std::memory_order_acquire) == this_thread() || try_enter()) break;
    }
    const void* mine = this_thread();
    // [gate.inherited] relaxed: as above; nobody else takes this thread's wish back.
    heir_.compare_exchange_strong(mine, nobody, std::memory_order_relaxed);
  }

  // An address that no other living thread has.
  [[nodiscard]] static const void* this_thread() noexcept { return &detail::cached_thread_slot; }

  const bool is_simple_;
  const bool shared_;
  const bool kernel_fences_;
  std::atomic<const void*> inside_{nobody};
  std::atomic<const void*> heir_{nobody};
  std::atomic<std::uint64_t> passes_{0};
};

/// Every thread of this process passes a full fence before this returns, or has fenced itself (`fence_for_all`).
void fence_all_threads() noexcept;

/// Every thread of every process that has called `prepare_fences` does; false where the kernel can't do that.
[[nodiscard]] bool fence_all_processes() noexcept;

}  // namespace weft::core
