// A ring of 64-byte cells from one sender to one receiver.
//
// Progress: wait-free on both sides; a push answers false when the ring is full, a poll finds nothing when it's empty.
// Who calls what: pushes are serialized by the sender, polls by the receiver; the two need nothing from each other.
// Either may be another process that dies at any instruction: an unpublished cell is never read, and nothing waits.
// Linearization: a push at its store of the cell's sequence number, a poll at its load of it.
// Reuse: position p lies in cell p mod cells and is published as sequence p + 1, so the number left by the lap before
// differs by the ring's size and never matches; the sender reuses a cell only after the receiver has counted it in
// `consumed`. Positions are 32 bits and wrap: at most `cells` of them (a power of two below 2^31) are alive at once.
// Layout: a cell is one cache line, written by the sender alone; `consumed` has a line that the receiver alone writes,
// once in a quarter of the ring. Cost: one line from sender to receiver for each message of up to 40 bytes.
// Model test: tests/model/cell_ring_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "net/transport.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/raw_record.hpp"

namespace weft::net {

/// What travels in a cell besides its sequence number.
struct cell_content {
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint8_t inline_bytes = 0;    // payload in the cell, or
  std::uint8_t carries_packet = 0;  // a packet_reference in its place
  std::uint32_t id = 0;
  std::uint32_t sequence = 0;
  std::uint64_t tag = 0;
  std::byte payload[detail::inline_bytes_max];
};

/// The payload of a cell that hands over a packet.
struct packet_reference {
  std::uint32_t index;
  std::uint32_t bytes;
};

/// Fields of a cell without the payload, in the order in which they lie.
inline constexpr std::size_t cell_head_bytes = 20;

template <class Atomics = detail::std_atomics>
struct alignas(detail::cache_line_bytes) basic_cell {
  typename Atomics::template atomic<std::uint32_t> sequence{0};
  std::byte content[60];
};

template <class Atomics = detail::std_atomics>
struct basic_ring_control {
  alignas(detail::cache_line_bytes) typename Atomics::template atomic<std::uint32_t> consumed{0};  // receiver's line
};

using cell = basic_cell<>;
using ring_control = basic_ring_control<>;
static_assert(sizeof(cell) == 64 && offsetof(cell, content) == 4);
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
      : control_{&control}, cells_{cells}, mask_{count - 1}, limit_{count} {}

  [[nodiscard]] bool try_push(const header& what, const void* payload, std::uint32_t bytes,
                              bool carries_packet) noexcept {
    if (tail_ == limit_ && !refresh_credit()) return false;
    cell_type& slot = cells_[tail_ & mask_];
    struct {
      std::uint8_t kind, flags, inline_bytes, carries_packet;
      std::uint32_t id, sequence;
    } const fields{what.kind, what.flags, static_cast<std::uint8_t>(bytes), carries_packet, what.id, what.sequence};
    static_assert(sizeof fields == 12);
    Atomics::write_plain(slot.content, &fields, sizeof fields);
    Atomics::write_plain(slot.content + 12, &what.tag, sizeof what.tag);
    Atomics::write_inline(slot.content + cell_head_bytes, payload, bytes);
    ++tail_;
    // [ring.publish] release -> [ring.poll]: carries header and payload of the cell at this position.
    slot.sequence.store(tail_, std::memory_order_release);
    return true;
  }

 private:
  bool refresh_credit() noexcept {
    // [ring.credit] acquire <- [ring.consume]: the receiver has read the cells that are written next.
    const std::uint32_t consumed = control_->consumed.load(std::memory_order_acquire);
    // A count that can't be (a peer gone wild) gives no credit instead of overwriting what was not read.
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
      : control_{&control}, cells_{cells}, mask_{count - 1} {}

  /// Whether there is a cell to read.
  [[nodiscard]] bool has_cell() const noexcept {
    // [ring.poll] acquire <- [ring.publish]: on mismatch nothing in the cell may be read.
    return cells_[head_ & mask_].sequence.load(std::memory_order_acquire) == head_ + 1;
  }

  /// Copies the cell's fields, and its payload as far as its (copied and checked) size says, out of the ring. False
  /// where the size can't be right; the content's size is 0 then.
  [[nodiscard]] bool read(cell_content& out) const noexcept {
    const cell_type& slot = cells_[head_ & mask_];
    struct {
      std::uint8_t kind, flags, inline_bytes, carries_packet;
      std::uint32_t id, sequence;
    } fields;
    Atomics::read_plain(&fields, slot.content, sizeof fields);
    Atomics::read_plain(&out.tag, slot.content + 12, sizeof out.tag);
    out.kind = fields.kind;
    out.flags = fields.flags;
    out.inline_bytes = fields.inline_bytes;
    out.carries_packet = fields.carries_packet;
    out.id = fields.id;
    out.sequence = fields.sequence;
    if (fields.inline_bytes > detail::inline_bytes_max) {
      out.inline_bytes = 0;
      return false;
    }
    Atomics::read_inline(out.payload, slot.content + cell_head_bytes, fields.inline_bytes);
    return true;
  }

  /// Leaves the cell behind; it may be overwritten from now on.
  void advance() noexcept {
    ++head_;
    if (head_ - returned_ > mask_ / 4) return_credit();
  }

 private:
  void return_credit() noexcept {
    returned_ = head_;
    // [ring.consume] release -> [ring.credit]: the cells up to here have been read.
    control_->consumed.store(head_, std::memory_order_release);
  }

  control_type* control_;
  const cell_type* cells_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0;      // position of the next cell to read
  std::uint32_t returned_ = 0;  // positions that the sender knows to be read
};

using ring_sender = basic_ring_sender<>;
using ring_receiver = basic_ring_receiver<>;

}  // namespace weft::net
