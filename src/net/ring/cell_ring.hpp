// SPDX-License-Identifier: BSD-3-Clause
// A ring of 64-byte cells from one sender to one receiver.
//
// Progress: wait-free on both sides; a push answers false when the ring is full, a poll finds nothing when it's empty.
// Who calls what: the sender serializes pushes, the receiver serializes polls; the two share no lock. Either may be
// another process that dies at any instruction: an unpublished cell is never read, and nothing waits.
// Linearization: a push at its store of the cell's first word, a poll at its load of it.
// Reuse: position p lies in cell p mod cells and is published as sequence p + 1, so the number left by the lap before
// differs by the ring's size and never matches; the sender reuses a cell only after the receiver has counted it in
// `consumed`. Positions are 32 bits and wrap: at most `cells` of them (a power of two below 2^31) are alive at once.
// Layout: a cell is one cache line, written by the sender alone; `consumed` has a line that the receiver alone writes,
// once in a quarter of the ring. Cost: one line from sender to receiver for each message of up to 40 bytes.
// Model test: tests/model/cell_ring_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/assertion.hpp"
#include "net/transport.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/raw_record.hpp"

namespace weft::net {

/// The upper half of a cell's first word: the message's kind, and size and form of its payload. The lower half is the
/// cell's sequence number, so that one store publishes both and one load finds both.
class cell_info {
 public:
  constexpr cell_info() noexcept = default;
  constexpr cell_info(std::uint32_t kind, std::uint32_t bytes, bool carries_packet) noexcept
      : word_{kind | bytes << 16 | std::uint32_t{carries_packet} << 24} {}
  /// The size of a cell that begins with `head`.
  constexpr explicit cell_info(std::uint64_t head) noexcept : word_{static_cast<std::uint32_t>(head >> 32)} {}

  [[nodiscard]] friend constexpr bool operator==(cell_info, cell_info) noexcept = default;

  /// The first word of a cell with this number.
  [[nodiscard]] constexpr std::uint64_t head(std::uint32_t sequence) const noexcept {
    return sequence | std::uint64_t{word_} << 32;
  }

  [[nodiscard]] constexpr std::uint32_t kind() const noexcept { return word_ & 0xffff; }
  /// Bytes of payload in the cell; a peer may have written any number up to 255.
  [[nodiscard]] constexpr std::uint32_t bytes() const noexcept { return word_ >> 16 & 0xff; }
  /// The whole payload is in the cell, and its size is valid.
  [[nodiscard]] constexpr bool is_inline() const noexcept { return word_ >> 16 <= detail::inline_bytes_max; }
  /// The payload is a packet_reference.
  [[nodiscard]] constexpr bool carries_packet() const noexcept { return word_ >> 24 != 0; }

 private:
  std::uint32_t word_ = 0;
};

/// The payload of a cell that hands over a packet.
struct packet_reference {
  std::uint32_t index;
  std::uint32_t bytes;
};

/// A ring has at least so many cells.
inline constexpr std::uint32_t ring_cells_min = 8;

template <class Atomics = detail::std_atomics>
struct alignas(detail::cache_line_bytes) basic_cell {
  typename Atomics::template atomic<std::uint64_t> head{0};  // sequence number and cell_info
  std::uint64_t id_and_order;                                // the header's id, and its sequence in the upper half
  std::uint64_t tag;
  std::byte payload[detail::inline_bytes_max];
};

template <class Atomics = detail::std_atomics>
struct basic_ring_control {
  alignas(detail::cache_line_bytes) typename Atomics::template atomic<std::uint32_t> consumed{0};  // receiver's line
  typename Atomics::template atomic<std::uint32_t> count{0};  // the sender's, of cells that it uses; 0: all

  /// Says how many cells the sender uses. Called before the receiver hears of the ring.
  void set_cells(std::uint32_t cells) noexcept {
    // [ring.depth] relaxed -> [ring.depth_read]: what tells the receiver of the ring publishes it.
    count.store(cells, std::memory_order_relaxed);
  }
  /// How many of the `room` cells the sender uses; all, if it says a number that can't be.
  [[nodiscard]] std::uint32_t cells(std::uint32_t room) const noexcept {
    // [ring.depth_read] relaxed <- [ring.depth]: a copy, as a faulty peer may change it.
    const std::uint32_t said = count.load(std::memory_order_relaxed);
    return said >= ring_cells_min && said <= room && (said & (said - 1)) == 0 ? said : room;
  }
};

using cell = basic_cell<>;
using ring_control = basic_ring_control<>;
static_assert(sizeof(cell) == 64 && offsetof(cell, payload) == offsetof(cell, tag) + 8);
static_assert(sizeof(ring_control) == 64);

/// The bytes of a ring: control line and cells. All zero is an empty ring.
[[nodiscard]] constexpr std::size_t ring_bytes(std::size_t cells) noexcept {
  return sizeof(ring_control) + cells * sizeof(cell);
}

/// The sending side, in the sender's private memory.
template <class Atomics = detail::std_atomics>
class basic_ring_sender {
 public:
  using control_type = basic_ring_control<Atomics>;
  using cell_type = basic_cell<Atomics>;

  /// `cells` is a power of two; the ring is all zero or was left by a sender whose position is `tail`.
  basic_ring_sender(control_type& control, cell_type* cells, std::uint32_t count) noexcept
      : control_{&control}, cells_{cells}, mask_{count - 1}, limit_{count} {
    WEFT_ASSERT(count != 0 && (count & mask_) == 0);
  }

  [[nodiscard]] bool try_push(const net::header& header, const void* payload, std::uint32_t bytes,
                              bool carries_packet) noexcept {
    if (!has_room()) [[unlikely]]
      return false;
    push(header, payload, bytes, carries_packet);
    return true;
  }

  /// Whether there is room by the credit that was read last.
  [[nodiscard]] bool has_credit() const noexcept { return tail_ != limit_; }

  /// Whether there is room.
  [[nodiscard]] bool has_room() noexcept { return has_credit() || refresh_credit(); }

  /// Requires room. Inlined, so that constants of the caller's (kind, size) are folded in.
  [[gnu::always_inline]] void push(const net::header& header, const void* payload, std::uint32_t bytes,
                                   bool carries_packet) noexcept {
    WEFT_ASSERT_CHECKED(has_credit() && bytes <= detail::inline_bytes_max);
    std::uint32_t tail = tail_;
    cell_type& slot = cells_[tail & mask_];
    const std::uint64_t id_and_order = header.id | std::uint64_t{header.sequence} << 32;
    Atomics::write_nonatomic(&slot.id_and_order, &id_and_order, sizeof id_and_order);
    Atomics::write_nonatomic(&slot.tag, &header.tag, sizeof header.tag);
    Atomics::write_inline(slot.payload, payload, bytes);
    tail_ = ++tail;
    // [ring.publish] release -> [ring.poll], [ring.glance]: carries header and payload of the cell at this position.
    slot.head.store(cell_info{header.kind, bytes, carries_packet}.head(tail), std::memory_order_release);
  }

 private:
  bool refresh_credit() noexcept {
    // [ring.credit] acquire <- [ring.consume]: the receiver has read the cells that are written next.
    const std::uint32_t consumed = control_->consumed.load(std::memory_order_acquire);
    // An impossible count (of a faulty peer) gives no credit, instead of overwriting cells that were not read.
    if (tail_ - consumed > mask_) return false;
    limit_ = consumed + mask_ + 1;
    return true;
  }

  control_type* control_;
  cell_type* cells_;
  std::uint32_t mask_;
  std::uint32_t tail_ = 0;  // position of the next cell
  std::uint32_t limit_;     // the position that may not be written yet
};

/// The receiving side, in the receiver's private memory.
template <class Atomics = detail::std_atomics>
class basic_ring_receiver {
 public:
  using control_type = basic_ring_control<Atomics>;
  using cell_type = basic_cell<Atomics>;

  basic_ring_receiver(control_type& control, const cell_type* cells, std::uint32_t count) noexcept
      : next_{cells}, control_{&control}, cells_{cells}, mask_{count - 1}, quarter_{mask_ / 4} {
    WEFT_ASSERT(count != 0 && (count & mask_) == 0);
  }

  /// Whether there is a cell to read, and what it is. What `info` says of its size must be checked, on this copy.
  [[nodiscard]] bool has_cell(cell_info& info) const noexcept {
    // [ring.poll] acquire <- [ring.publish]: on mismatch nothing in the cell may be read.
    const std::uint64_t head = next_->head.load(std::memory_order_acquire);
    info = cell_info{head};
    return static_cast<std::uint32_t>(head) == awaited_;
  }
  [[nodiscard]] bool has_cell() const noexcept {
    cell_info info;
    return has_cell(info);
  }

  /// Copies the header of that cell out of the ring and returns where its payload lies, which may be read until
  /// `advance`.
  [[nodiscard]] const std::byte* read(cell_info info, net::header& header) const noexcept {
    std::uint64_t id_and_order;
    Atomics::read_nonatomic(&id_and_order, &next_->id_and_order, sizeof id_and_order);
    header.kind = info.kind();
    header.id = static_cast<std::uint32_t>(id_and_order);
    header.sequence = static_cast<std::uint32_t>(id_and_order >> 32);
    Atomics::read_nonatomic(&header.tag, &next_->tag, sizeof header.tag);
    return next_->payload;
  }

  /// Prefetches the next cell, for a sink that takes long for the current one.
  void prefetch() const noexcept { __builtin_prefetch(cells_ + (awaited_ & mask_)); }

  // Parts of the current cell, for a sink that needs no whole header.

  /// The header's id, and its sequence in the upper half.
  [[nodiscard]] std::uint64_t id_and_sequence() const noexcept {
    std::uint64_t id_and_order;
    Atomics::read_nonatomic(&id_and_order, &next_->id_and_order, sizeof id_and_order);
    return id_and_order;
  }
  /// The address of the cell's tag; the payload follows it.
  [[nodiscard]] const std::byte* tag_and_payload() const noexcept {
    return reinterpret_cast<const std::byte*>(&next_->tag);
  }

  /// Whether there is a cell to read. **Threads**: any; the answer may be old.
  [[nodiscard]] bool holds_unread() const noexcept {
    // [ring.glance_at] relaxed <- [ring.position]: a number; which message is next.
    const std::uint32_t awaited = std::atomic_ref{awaited_}.load(std::memory_order_relaxed);
    // [ring.glance] relaxed <- [ring.publish]: whether there is a message, which is not read here.
    const std::uint64_t head = cells_[(awaited - 1) & mask_].head.load(std::memory_order_relaxed);
    return static_cast<std::uint32_t>(head) == awaited;
  }
  [[nodiscard]] bool is_of(const control_type& control) const noexcept { return control_ == &control; }

  /// Leaves the cell behind; it may be overwritten from now on.
  void advance() noexcept {
    const std::uint32_t head = awaited_;
    // [ring.position] relaxed -> [ring.glance_at]: a number.
    std::atomic_ref{awaited_}.store(head + 1, std::memory_order_relaxed);
    next_ = cells_ + (head & mask_);
    if ((head & quarter_) == 0) return_credit(head);
  }

 private:
  void return_credit(std::uint32_t head) noexcept {
    // [ring.consume] release -> [ring.credit]: the cells up to here have been read.
    control_->consumed.store(head, std::memory_order_release);
  }

  const cell_type* next_;  // the next cell to read
  // The sequence number that it has once published: its position + 1. A const reader of another thread uses atomic_ref.
  mutable std::uint32_t awaited_ = 1;
  control_type* control_;
  const cell_type* cells_;
  std::uint32_t mask_;
  std::uint32_t quarter_;  // quarter of the ring, less one; a mask: after each quarter the receiver returns credit
};

using ring_sender = basic_ring_sender<>;
using ring_receiver = basic_ring_receiver<>;

}  // namespace weft::net
