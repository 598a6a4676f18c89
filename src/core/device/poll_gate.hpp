// SPDX-License-Identifier: BSD-3-Clause
// Lets one thread at a time poll a device, and lets other threads find out when it has left.
//
// Cost to the poller: one exchange on a shared device, two relaxed stores on a device of one thread's own, and a count
// in the same line. A thread that withdraws something that a poller may be using pays the rest: a fence in every thread
// (membarrier), and a wait for one pass of each poller. Passes are counted, because a gate that is always in use is
// hardly ever seen free. If the kernel forbids membarrier, each poll pays for a fence of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "base/this_suspender.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::core {

/// Registers the process for the kernel's fences; called once per runtime, before any device is made.
void prepare_fences() noexcept;

/// Whether `fence_all_threads` makes every thread of this process pass a fence. If not, pollers and choosing threads
/// execute a fence themselves (`fence_for_all`). The answer never changes.
[[nodiscard]] bool kernel_fences_threads() noexcept;

/// Stands between a store and a load that a thread in `fence_all_threads` must see in this order.
inline void fence_for_all(bool kernel_fences) noexcept {
  if (kernel_fences) [[likely]] {
    // [gate.own_fence] seq_cst -> [gate.fence_all]: for the compiler; the waiter's membarrier is the core's fence.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    // [gate.own_fence] seq_cst -> [gate.fence_all]: without membarrier.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

/// Which thread is inside, which is next, and how often one has left. The caller has to fence. Progress: wait-free.
/// Callers: the thread inside calls `leave`, any thread the rest. Linearization: store or exchange of `inside_`.
/// Reuse: passes wrap after 2^64. Model test: tests/model/poll_gate_test.cpp.
template <class Atomics = detail::std_atomics>
class basic_gate_word {
 public:
  /// A thread, by an address that no other living thread has.
  using entrant = const void*;
  static constexpr entrant nobody = nullptr;

  /// Lets no thread enter any more, and waits for none. **Threads**: the only one of the process.
  void close_for_ever() noexcept {
    // [gate.close] relaxed: the process has one thread.
    heir_.store(&heir_, std::memory_order_relaxed);  // so `leave` closes the gate again
    inside_.store(&heir_, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_closed() const noexcept {
    // [gate.is_closed] relaxed: no other thread exists that could close it.
    return inside_.load(std::memory_order_relaxed) == &heir_;
  }

  [[nodiscard]] bool is_inside(entrant me) const noexcept {
    // [gate.self] relaxed: this address is written only by this thread, or because this thread has asked for the gate.
    return inside_.load(std::memory_order_relaxed) == me;
  }

  [[nodiscard]] bool looks_free() const noexcept {
    // [gate.look] relaxed: on a shared device a hint, so that other threads read the line instead of taking it. On a
    // device of one thread's own only this thread writes here, and a handler that polls again finds itself inside.
    return inside_.load(std::memory_order_relaxed) == nobody;
  }

  /// Enters a gate that no other thread ever enters.
  void enter_alone(entrant me) noexcept {
    // [gate.own_enter] relaxed: the fence of the thread that waits for this gate orders it before all that follows.
    inside_.store(me, std::memory_order_relaxed);
  }

  [[nodiscard]] bool try_enter(entrant me) noexcept {
    entrant expected = nobody;
    // [gate.enter] acquire <- [gate.leave]: the last poller's writes.
    return inside_.compare_exchange_strong(expected, me, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void leave() noexcept {
    // [gate.count] relaxed: only the thread inside writes here.
    const std::uint64_t passes = passes_.load(std::memory_order_relaxed);
    // [gate.passed] release -> [gate.passes]: this poller's writes.
    passes_.store(passes + 1, std::memory_order_release);
    // [gate.heir] relaxed <- [gate.ask], [gate.taken_back]: carries nothing; mostly no thread has asked.
    const entrant heir = heir_.load(std::memory_order_relaxed);
    // [gate.leave] release -> [gate.enter], [gate.given], [gate.wait], [gate.free]: this poller's writes.
    inside_.store(heir, std::memory_order_release);
  }

  /// Asks the next leaving thread to hand the gate to `me`. Another thread's request may replace this one, so a thread
  /// repeats it until it is inside, and then takes it back.
  void ask(entrant me) noexcept {
    // [gate.ask] relaxed -> [gate.heir]: carries nothing.
    heir_.store(me, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_given_to(entrant me) const noexcept {
    // [gate.given] acquire <- [gate.leave]: the last poller's writes.
    return inside_.load(std::memory_order_acquire) == me;
  }
  void take_back() noexcept {
    // [gate.taken_back] relaxed -> [gate.heir]: may remove another thread's request as well; that thread asks again.
    heir_.store(nobody, std::memory_order_relaxed);
  }

  /// How often threads have left. Must be read after a fence, for `has_left_since`.
  [[nodiscard]] std::uint64_t passes() const noexcept {
    // [gate.passes] acquire <- [gate.passed]: a thread that has left no longer uses the withdrawn object.
    return passes_.load(std::memory_order_acquire);
  }

  /// Whether the thread that was inside when `before` passes had ended has left, or is `me`. The leaving thread may
  /// still have to access the gate: before a gate is destroyed, `is_free` must be true.
  [[nodiscard]] bool has_left_since(std::uint64_t before, entrant me) const noexcept {
    if (passes() != before) return true;
    // [gate.wait] acquire <- [gate.leave]: the thread that was inside no longer uses the withdrawn object.
    const entrant inside = inside_.load(std::memory_order_acquire);
    return inside == nobody || inside == me || inside == &heir_;
  }

  /// Waits until the thread that is inside has left, unless it is `me`. Does not depend on seeing the gate free.
  void wait_until_left(entrant me) const noexcept {
    if (is_inside(me)) return;
    const std::uint64_t before = passes();
    // A fiber of another scheduler may continue in another thread: then the first thread may be inside.
    for (base::backoff waiting; !has_left_since(before, nobody);) base::yield_or_pause(waiting);
  }

  /// Whether no thread is inside. If none will enter any more, the gate may then be destroyed.
  [[nodiscard]] bool is_free() const noexcept {
    // [gate.free] acquire <- [gate.leave]: the last access of the thread that was inside.
    const entrant inside = inside_.load(std::memory_order_acquire);
    return inside == nobody || inside == &heir_;
  }

 private:
  typename Atomics::template atomic<entrant> inside_{nobody};
  typename Atomics::template atomic<entrant> heir_{nobody};
  typename Atomics::template atomic<std::uint64_t> passes_{0};
};

class alignas(detail::cache_line_bytes) poll_gate {
 public:
  explicit poll_gate(bool shared, bool kernel_fences = kernel_fences_threads()) noexcept
      : is_simple_{!shared && kernel_fences}, shared_{shared}, kernel_fences_{kernel_fences} {}

  /// **Threads**: none enters or is inside.
  void set_shared(bool shared) noexcept {
    is_simple_ = !shared && kernel_fences_;
    shared_ = shared;
  }

  /// Whether the calling thread is inside: in a handler.
  [[nodiscard]] bool is_inside() const noexcept { return word_.is_inside(this_thread()); }

  [[nodiscard]] bool try_enter() noexcept {
    if (!word_.looks_free()) return false;
    if (is_simple_) [[likely]] {  // a shared gate pays this jump besides its exchange
      word_.enter_alone(this_thread());
      fence_for_all(true);
      return true;
    }
    return try_enter_slow();
  }

  void leave() noexcept {
    WEFT_ASSERT_CHECKED(is_inside() || is_closed());
    word_.leave();
  }

  /// Called in a child of fork(), whose parent polls.
  void close_for_ever() noexcept { word_.close_for_ever(); }
  [[nodiscard]] bool is_closed() const noexcept { return word_.is_closed(); }

  /// Keeps a thread inside a shared gate. If another thread polls, `take` waits until it has ended its pass and hands
  /// the gate over. A thread that is inside already must not call it.
  class scoped_entry {
   public:
    /// Holds no gate yet.
    scoped_entry() noexcept = default;
    explicit scoped_entry(poll_gate& gate) noexcept { take(gate); }
    scoped_entry(const scoped_entry&) = delete;
    scoped_entry& operator=(const scoped_entry&) = delete;
    ~scoped_entry() { reset(); }

    void take(poll_gate& gate) noexcept {
      gate.enter();
      gate_ = &gate;
    }
    /// False: another thread is inside.
    [[nodiscard]] bool try_take(poll_gate& gate) noexcept {
      if (!gate.is_closed() && !gate.try_enter()) return false;
      gate_ = &gate;
      return true;
    }
    void reset() noexcept {
      if (gate_ != nullptr) std::exchange(gate_, nullptr)->leave();
    }

   private:
    poll_gate* gate_ = nullptr;
  };

  /// How often pollers have left. Must be read after `fence_all_threads`, for `has_left_since`.
  [[nodiscard]] std::uint64_t passes() const noexcept { return word_.passes(); }

  /// Whether the poller that was inside when `before` passes had ended has left, or is the calling thread itself, in a
  /// handler.
  [[nodiscard]] bool has_left_since(std::uint64_t before) const noexcept {
    return word_.has_left_since(before, this_thread());
  }

  void wait_until_left() const noexcept { word_.wait_until_left(this_thread()); }

  /// Whether it may be destroyed, if no thread will enter any more.
  [[nodiscard]] bool is_free() const noexcept { return word_.is_free(); }

 private:
  [[nodiscard]] bool try_enter_slow() noexcept {
    if (!shared_) {
      word_.enter_alone(this_thread());
    } else if (!word_.try_enter(this_thread())) {
      return false;
    }
    fence_for_all(kernel_fences_);
    return true;
  }

  void enter() noexcept {
    if (word_.is_closed()) return;
    const void* const me = this_thread();
    WEFT_ASSERT_CHECKED(!word_.is_inside(me));
    for (base::backoff waiting;; waiting.pause()) {
      word_.ask(me);
      if (word_.is_given_to(me) || word_.try_enter(me)) break;
    }
    word_.take_back();
    fence_for_all(kernel_fences_);
  }

  [[nodiscard]] static const void* this_thread() noexcept { return &detail::cached_thread_slot; }

  bool is_simple_;
  bool shared_;
  const bool kernel_fences_;
  basic_gate_word<> word_;
};

/// Every thread of this process passes a full fence before this returns, or has fenced itself (`fence_for_all`).
void fence_all_threads() noexcept;

/// Every thread of every process that has called `prepare_fences` does; false where the kernel can't do that.
[[nodiscard]] bool fence_all_processes() noexcept;

}  // namespace weft::core
