// SPDX-License-Identifier: BSD-3-Clause
// Whether a member joins the next wave of a termination: not while it works. The word holds twice the number of pieces
// that are being worked at, and a bit which says that a wave waits for their end.
//
// Progress: lock-free. Threads: the driver of the waves calls `enter`; any thread calls `begin` and `end`.
// Linearization: each call at its access to the word. If a wave waits, exactly one `end` answers `release`; the caller
// of any other `end` may find the termination destroyed, and touches nothing of it afterwards.
// Model test: tests/model/wave_gate_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::coll {

enum class gate_answer : std::uint8_t { nothing, release, misuse };

template <class Atomics = detail::std_atomics>
class basic_wave_gate {
 public:
  void begin() noexcept {
    // [wave.begin] relaxed: if a wave was joined before, the counts show the piece to the next one.
    word_.fetch_add(piece, std::memory_order_relaxed);
  }

  /// `release`: a wave has waited for this call, and the caller drives it now. `misuse`: no piece had begun.
  [[nodiscard]] gate_answer end() noexcept {
    // [wave.guess] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (seen < piece) return gate_answer::misuse;
      const bool releases = seen == (piece | waits);
      const std::uint64_t next = releases ? 0 : seen - piece;
      // [wave.end] acq_rel -> [wave.enter], [wave.end], <- [wave.wait]: the work; the driver's stores.
      if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed))
        return releases ? gate_answer::release : gate_answer::nothing;
    }
  }

  /// Whether the wave may be joined now. If not, an `end` answers `release` later, perhaps before this returns.
  [[nodiscard]] bool enter() noexcept {
    // [wave.enter] acquire <- [wave.end]: the work that is done.
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      if (seen == 0) return true;
      // [wave.wait] release -> [wave.end]: the driver's stores.
      // [wave.enter] acquire <- [wave.end]: on failure, the work that is done.
      if (word_.compare_exchange_weak(seen, seen | waits, std::memory_order_release, std::memory_order_acquire))
        return false;
    }
  }

 private:
  static constexpr std::uint64_t waits = 1;
  static constexpr std::uint64_t piece = 2;

  typename Atomics::template atomic<std::uint64_t> word_{0};
};

using wave_gate = basic_wave_gate<>;

}  // namespace weft::coll
