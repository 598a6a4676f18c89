// SPDX-License-Identifier: BSD-3-Clause
// The head of a fiber: what its workers and its handle know of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "base/this_wait.hpp"
#include "base/waiter.hpp"
#include "fiber/context.hpp"
#include "fiber/locals.hpp"
#include "fiber/stacks.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::fibers {

class worker;

/// The state that the C++ runtime keeps for each thread: of a fiber while it is suspended in a handler of an exception.
struct exception_globals {
  void* caught = nullptr;
  std::uintptr_t uncaught = 0;  // the runtime's half and its padding: copied in one piece
};

/// The wait of a suspended fiber, as it last noted it. **Threads**: the fiber writes, any reads, a field at a time.
struct told_wait {
  void say(const base::wait_note& note) noexcept {
    call.store(note.call, std::memory_order_relaxed);  // [hint] for people
    peer.store(note.peer, std::memory_order_relaxed);  // [hint]
    tag.store(note.tag, std::memory_order_relaxed);    // [hint]
  }
  [[nodiscard]] base::wait_note said() const noexcept {
    return {.call = call.load(std::memory_order_relaxed),  // [hint]
            .peer = peer.load(std::memory_order_relaxed),  // [hint]
            .tag = tag.load(std::memory_order_relaxed)};   // [hint]
  }

  std::atomic<const char*> call{nullptr};
  std::atomic<std::uint32_t> peer{base::wait_note::nobody};
  std::atomic<std::uint64_t> tag{0};
};

/// It lies at the top of the fiber's stack. An overrun of the stack above writes into `mark` first.
struct fiber_state {
  /// The values of `joiner` from the end on, and once it was detached.
  [[nodiscard]] static base::waiter* over() noexcept { return reinterpret_cast<base::waiter*>(1); }
  [[nodiscard]] static base::waiter* detached() noexcept { return reinterpret_cast<base::waiter*>(2); }

  /// Its slot at the worker that runs it. **Threads**: that worker's, while the fiber is alive.
  [[nodiscard]] std::uint32_t slot_here() const noexcept {
    return static_cast<std::uint32_t>(location.load(std::memory_order_relaxed));  // [own] only its worker asks
  }

  static constexpr std::uint64_t whole = 0x5765'6674'2066'6962;

  worker* home = nullptr;         // whose stack it has
  std::uint32_t slot = 0;         // there: the index by which others know it
  fiber_state* behind = nullptr;  // next in an inbox
  std::uint32_t next_slot = 0;    // its slot at the worker to which it moves
  fiber_state* lender = nullptr;  // whose slot it has at another worker, until it leaves: a stack that is free
  // Null until it ends, is joined or is detached. The later one of end and detach releases it, or else the
  // join.
  std::atomic<base::waiter*> joiner{nullptr};
  void (*call)(void*) = nullptr;
  void* function = nullptr;
  std::exception_ptr thrown;
  locals kept;
  told_wait waits_for;

  // Each switch reads this one line.
  alignas(detail::cache_line_bytes) context registers;
  // The worker that runs it now, and its slot there: `slot_table::location_of`; 0 before its start and from its end on:
  // a fiber that has ended may still be signalled. It changes under the lock of its home's slots.
  std::atomic<std::uint64_t> location{0};
  stacks::stack stack;
  exception_globals exceptions;
  std::uint64_t mark = whole;  // the last: an overrun of the stack above starts here
};

/// The first function on a fiber's stack: calls the fiber's own.
void run_fiber(void* state);

/// A signal for a fiber that runs at another worker now, or has ended. Stores before the signal are seen there: by the
/// thread that moves it, as both take the lock, or by its next worker, by the bit. **Threads**: a worker's of its
/// scheduler.
[[gnu::cold]] void forward_signal(fiber_state& elsewhere) noexcept;

/// Ends the process: a detached fiber threw.
[[noreturn]] void refuse_throwing_alone(const std::exception_ptr& thrown) noexcept;

}  // namespace weft::fibers
