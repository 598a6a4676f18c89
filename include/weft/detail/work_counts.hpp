// SPDX-License-Identifier: BSD-3-Clause
// Two counts that many threads raise, and that one thread adds up now and then: pieces of work that were begun, and
// pieces that are done.
//
// Cost: in the first eight threads of a process a count is a load and a store in a line that only its thread writes; in
// other threads it is one locked addition. A sum reads nine lines.
// Progress: wait-free. Threads: any; a sum may miss a piece that another thread counts meanwhile. A sum includes all
// that an earlier sum included if the earlier one happened before it. Wrap-around: sums have 64 bits; callers compare
// them for equality and by their difference. Reuse: a thread that gets the slot of an ended thread continues its
// counts, which happened before, by the lock of slots.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "weft/detail/atomics.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::detail {

class work_counts {
 public:
  void add_begun(std::uint64_t pieces) noexcept {
    const std::uint32_t slot = this_thread_slot();
    if (slot < by_thread_.size()) [[likely]] {
      std::atomic<std::uint64_t>& mine = by_thread_[slot].begun;
      // [work.begun_own] relaxed: it happens before the end of this piece is counted, by the message that carries it.
      mine.store(mine.load(std::memory_order_relaxed) + pieces, std::memory_order_relaxed);
    } else {
      // [work.begun] relaxed: as in a line of the thread's own.
      by_others_.begun.fetch_add(pieces, std::memory_order_relaxed);
    }
  }

  void add_done(std::uint64_t pieces) noexcept {
    const std::uint32_t slot = this_thread_slot();
    if (slot < by_thread_.size()) [[likely]] {
      std::atomic<std::uint64_t>& mine = by_thread_[slot].done;
      // [work.done_own] release -> [work.sum_done]: the begin of this piece, and of all pieces that it caused.
      mine.store(mine.load(std::memory_order_relaxed) + pieces, std::memory_order_release);
    } else {
      // [work.done] release -> [work.sum_done]: as in a line of the thread's own.
      by_others_.done.fetch_add(pieces, std::memory_order_release);
    }
  }

  [[nodiscard]] std::uint64_t begun() const noexcept {
    // [work.sum_begun] relaxed: counts that it has to include happened before, by [work.sum_done] of an earlier wave.
    std::uint64_t out = by_others_.begun.load(std::memory_order_relaxed);
    // [work.sum_begun] relaxed: counts that it has to include happened before, by [work.sum_done] of an earlier wave.
    for (const line& each : by_thread_) out += each.begun.load(std::memory_order_relaxed);
    return out;
  }

  [[nodiscard]] std::uint64_t done() const noexcept {
    // [work.sum_done] acquire <- [work.done], [work.done_own]: pieces begun before.
    std::uint64_t out = by_others_.done.load(std::memory_order_acquire);
    // [work.sum_done] acquire <- [work.done], [work.done_own]: pieces begun before.
    for (const line& each : by_thread_) out += each.done.load(std::memory_order_acquire);
    return out;
  }

 private:
  struct alignas(cache_line_bytes) line {
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> done{0};
  };

  std::array<line, 8> by_thread_{};  // index: thread slot
  line by_others_;
};

}  // namespace weft::detail
