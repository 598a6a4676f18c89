// SPDX-License-Identifier: BSD-3-Clause
// A long copy between two processes that both of them do, piece by piece: a side that has time claims the next piece.
// The receiver reads, the sender writes; a sender that makes no progress leaves all pieces to the receiver.
//
// A copy state lies in the receiver's shared memory. The receiver opens it; both sides claim pieces and finish the
// pieces that they have claimed; only the receiver checks whether all pieces are copied.
//
// Progress: wait-free but for the retry of a claim that another one overtook; a side that dies with a claimed piece
// leaves the copy unfinished. Linearization: a claim at its exchange of `next_`.
//
// Reuse: the high half of `next_` is the number of the copy. If a sender gets the invitation to a copy that has ended,
// whose copy state serves another copy, it claims nothing.
//
// Cost: one line between the two, an exchange and an addition for each piece. Two cores copy up to twice as fast as
// one: measured by `weft-perf limits`, "cross-memory copy by both". Model test: tests/model/shared_copy_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::core {

/// A part of a copy.
struct shared_piece {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // 0: no piece is left
};

/// All zeros: never used.
template <class Atomics = detail::std_atomics>
class alignas(detail::cache_line_bytes) basic_copy_state {
 public:
  static constexpr std::uint64_t piece_bytes_min = std::uint64_t{32} << 10;
  static constexpr std::uint64_t piece_bytes_max = std::uint64_t{128} << 10;
  /// Pieces that a receiver may ask for, in the invitation.
  static constexpr std::uint32_t page_bytes = 4096;
  static constexpr std::uint32_t asked_pages_max = 128;

  /// A half, so that both sides copy a part of a short message; at most so long that the side that ends first waits
  /// only shortly for the last piece.
  [[nodiscard]] static constexpr std::uint64_t piece_bytes(std::uint64_t bytes) noexcept {
    return std::clamp((bytes / 2 + 4095) / 4096 * 4096, piece_bytes_min, piece_bytes_max);
  }
  /// Whether a message of `bytes` bytes can be copied in pieces of so many pages (0: by its size). Pieces are counted
  /// in 32 bits.
  [[nodiscard]] static constexpr bool can_copy(std::uint64_t bytes, std::uint32_t asked_pages) noexcept {
    if (asked_pages == 0) return bytes <= piece_bytes_max << 31;
    return asked_pages <= asked_pages_max && bytes <= std::uint64_t{asked_pages} * page_bytes << 31;
  }

  /// Begins copy `number`, which must differ from the last one's. Called by the receiver, before it invites the sender.
  void open(std::uint32_t number) noexcept {
    // [copy_state.open] relaxed: carried to the sender by its invitation.
    done_.store(0, std::memory_order_relaxed);
    // [copy_state.open] relaxed: carried by the invitation.
    failed_.store(0, std::memory_order_relaxed);
    // [copy_state.open] relaxed: carried by the invitation; a thread that still has an older number finds it replaced.
    next_.store(std::uint64_t{number} << 32, std::memory_order_relaxed);
  }

  /// The next piece of copy `number`, which is `bytes` long, in pieces of so many pages (0: by its size); an empty one
  /// if all are claimed, or that copy has ended.
  [[nodiscard]] shared_piece claim(std::uint32_t number, std::uint64_t bytes, std::uint32_t asked_pages = 0) noexcept {
    const std::uint64_t each = asked_pages != 0 ? std::uint64_t{asked_pages} * page_bytes : piece_bytes(bytes);
    // [copy_state.look] relaxed: a wrong guess makes the exchange below fail.
    std::uint64_t seen = next_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t offset = (seen & 0xffff'ffff) * each;
      if (seen >> 32 != number || offset >= bytes) return {};
      // [copy_state.claim] relaxed: one side gets the piece; both buffers were ready before the invitation.
      if (next_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
        return {offset, std::min(each, bytes - offset)};
      }
    }
  }

  /// The claimed piece is copied; if `copied` is false, it is not, and the receiver has to copy all again alone. The
  /// other side may end the operation right after this.
  void finish(const shared_piece& piece, bool copied) noexcept {
    // [copy_state.fail] relaxed -> [copy_state.failed]: published by the addition.
    if (!copied) failed_.store(1, std::memory_order_relaxed);
    // [copy_state.finish] release -> [copy_state.all]: the bytes of the piece.
    done_.fetch_add(piece.bytes, std::memory_order_release);
  }

  /// Whether all pieces, of `bytes` bytes together, are finished.
  [[nodiscard]] bool is_through(std::uint64_t bytes) const noexcept {
    // [copy_state.all] acquire <- [copy_state.finish]: the bytes that the other side wrote.
    return done_.load(std::memory_order_acquire) >= bytes;
  }
  /// Whether all of them were copied, after `is_through`.
  [[nodiscard]] bool is_whole() const noexcept {
    // [copy_state.failed] relaxed <- [copy_state.fail]: published by the additions.
    return failed_.load(std::memory_order_relaxed) == 0;
  }

 private:
  typename Atomics::template atomic<std::uint64_t> next_{0};  // number of the copy, and of its next piece
  typename Atomics::template atomic<std::uint64_t> done_{0};  // bytes that were claimed and finished
  typename Atomics::template atomic<std::uint32_t> failed_{0};
};

using copy_state = basic_copy_state<>;
static_assert(sizeof(copy_state) == detail::cache_line_bytes);

}  // namespace weft::core
