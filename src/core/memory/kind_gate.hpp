// SPDX-License-Identifier: BSD-3-Clause
// Whether a kind of memory still exists, and how many threads are inside its functions: the thread that ends the kind
// waits for them, and none enters afterwards.
//
// Progress: wait-free; the end of a kind waits for functions of the user's. Linearization: entering at its addition,
// which sees whether the number is still there; the end at its change of that word.
//
// Reuse: a kind that takes the place of an ended one has another number, so memory of the ended one does not enter.
//
// Cost: two locked operations for a call, on a line that all threads write which use the kind. Layouts have none.
// Model test: tests/model/kind_gate_test.cpp.
#pragma once

#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::core {

/// Begins closed. Numbers are not 0.
template <class Atomics = detail::std_atomics>
class basic_kind_gate {
 public:
  /// The kind with this number begins. The gate is closed; threads that try an older number may be there for a moment.
  void open(std::uint32_t number) noexcept {
    // [kind.open] release -> [kind.enter]: the functions of the kind.
    word_.fetch_add(std::uint64_t{number} << number_shift, std::memory_order_release);
  }

  /// False: the kind with this number has ended. After true: `leave`.
  [[nodiscard]] bool try_enter(std::uint32_t number) noexcept {
    // [kind.enter] acquire <- [kind.open]: the functions of the kind.
    const std::uint64_t seen = word_.fetch_add(1, std::memory_order_acquire);
    if (seen >> number_shift == number) return true;
    leave();
    return false;
  }
  void leave() noexcept {
    // [kind.leave] release -> [kind.left]: all that the function did.
    word_.fetch_sub(1, std::memory_order_release);
  }

  /// Lets no thread enter any more.
  void close() noexcept {
    // [kind.close] relaxed: later calls find no number in this word; nothing else is published.
    word_.fetch_and(callers_mask, std::memory_order_relaxed);
  }
  /// Whether all have left, after `close`.
  [[nodiscard]] bool is_left() const noexcept {
    // [kind.left] acquire <- [kind.leave]: all that functions did.
    return (word_.load(std::memory_order_acquire) & callers_mask) == 0;
  }
  /// The number of the kind that exists at this moment; 0: none. A guess: the caller has to enter.
  [[nodiscard]] std::uint32_t number() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed) >> number_shift);  // [hint]
  }

 private:
  static constexpr unsigned number_shift = 32;
  static constexpr std::uint64_t callers_mask = 0xffff'ffff;

  typename Atomics::template atomic<std::uint64_t> word_{0};  // number of the kind, and threads inside
};

using kind_gate = basic_kind_gate<>;

}  // namespace weft::core
