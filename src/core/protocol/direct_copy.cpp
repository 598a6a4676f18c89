// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/direct_copy.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include "core/message/choose_protocol.hpp"
#include "core/runtime/rank_memory.hpp"

namespace weft::core::direct_copy {

namespace {

using window = std::array<net::memory_piece, net::copy_pieces_max>;
using net::copy_result;
using net::memory_piece;

// What the peer's list has in its memory: address, bytes, and a word that is null in each list that is named to peers.
struct listed_piece {
  memory_piece piece;
  std::uint64_t memory;
};
static_assert(sizeof(buffer_ref) == sizeof(listed_piece) && sizeof(const_buffer_ref) == sizeof(listed_piece));
static_assert(std::is_trivially_copyable_v<buffer_ref> && std::is_trivially_copyable_v<const_buffer_ref>);

net::memory_pieces first_of(const window& pieces, std::size_t count) noexcept { return {pieces.data(), count}; }

// Keeps the first `bytes` bytes of `pieces`, which has as many.
void cut(window& pieces, found_pieces& found, std::uint64_t bytes) noexcept {
  while (found.bytes - pieces[found.count - 1].bytes >= bytes) found.bytes -= pieces[--found.count].bytes;
  pieces[found.count - 1].bytes -= found.bytes - bytes;
  found.bytes = bytes;
}

// Reads the next pieces of the peer's list.
copy_result read_window(device_state& dev, const operation_state& operation, std::span<memory_piece> out) noexcept {
  const copy_part& copying = operation.copying;
  std::array<listed_piece, net::copy_pieces_max> listed;
  const std::uint64_t bytes = out.size() * sizeof(listed_piece);
  const memory_piece here = net::piece_of(listed.data(), bytes);
  const memory_piece there{copying.remote_address + copying.remote.piece * sizeof(listed_piece), bytes};
  const copy_result answer =
      dev.routes().endpoint_to(operation.peer).read_remote(operation.peer, {&here, 1}, {&there, 1});
  if (answer != copy_result::done) return answer;
  std::transform(listed.begin(), listed.begin() + static_cast<std::ptrdiff_t>(out.size()), out.begin(),
                 [](const listed_piece& each) { return each.piece; });
  return answer;
}

// The pieces of the peer's memory where the bytes from `offset` on lie, of up to `bytes` bytes. The list may have
// anything in it: its peer alone suffers from a wrong address, and no size is added before it is found to be small.
copy_result find_remote(device_state& dev, operation_state& operation, std::uint64_t offset, std::uint64_t bytes,
                        window& out, found_pieces& found) noexcept {
  copy_part& copying = operation.copying;
  if (copying.remote.pieces == 0) {
    out[0] = {copying.remote_address + offset, bytes};
    found = {1, bytes};
    return copy_result::done;
  }
  remote_list& list = copying.remote;
  if (offset < list.begin) list = {.pieces = list.pieces};
  for (;;) {
    const std::size_t count = std::min<std::size_t>(out.size(), list.pieces - list.piece);
    if (count == 0) return copy_result::bad_address;  // the list has fewer bytes than were announced
    if (const copy_result answer = read_window(dev, operation, {out.data(), count}); answer != copy_result::done)
      return answer;
    std::size_t next_piece = 0;
    for (; next_piece < count && out[next_piece].bytes <= offset - list.begin; ++next_piece, ++list.piece)
      list.begin += out[next_piece].bytes;
    if (next_piece == count) continue;
    const std::uint64_t skipped = offset - list.begin;
    out[next_piece].address += skipped;
    out[next_piece].bytes -= skipped;
    found = {};
    for (; next_piece < count && found.bytes < bytes; ++next_piece) {
      memory_piece next = out[next_piece];
      next.bytes = std::min(next.bytes, bytes - found.bytes);
      if (found.bytes != 0) {
        list.begin = offset + found.bytes;
        ++list.piece;
      }
      found.bytes += next.bytes;
      if (found.count != 0 && out[found.count - 1].address + out[found.count - 1].bytes == next.address) {
        out[found.count - 1].bytes += next.bytes;
      } else {
        out[found.count++] = next;
      }
    }
    return copy_result::done;
  }
}

// Packets through which bytes of short pieces pass, some at a time, so that one system call moves them.
class chunk {
 public:
  chunk(packet_pool& packets, std::uint64_t bytes) noexcept : packets_{&packets} {
    while (bytes_ < bytes && count_ < packets_max) {
      const std::uint32_t next = packets.try_get();
      if (next == packet_pool::none) return;
      held_[count_++] = next;
      bytes_ = std::min(bytes, bytes_ + packets.packet_bytes());
    }
  }
  ~chunk() {
    for (std::size_t i = 0; i < count_; ++i) packets_->put(held_[i]);
  }
  chunk(const chunk&) = delete;
  chunk& operator=(const chunk&) = delete;

  /// What it has room for; 0: no packet is free.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] found_pieces pieces(window& out) const noexcept {
    each(bytes_, [&](std::size_t i, std::byte* data, std::uint64_t bytes) { out[i] = net::piece_of(data, bytes); });
    return {count_, bytes_};
  }
  void gather(const source_payload& own, std::uint64_t offset, std::uint64_t all,
              list_position& position) const noexcept {
    each(all, [&](std::size_t, std::byte* data, std::uint64_t bytes) {
      static_cast<void>(own.copy_to(data, offset, static_cast<std::size_t>(bytes), position));  // ordinary memory
      offset += bytes;
    });
  }
  void scatter(const target_payload& own, std::uint64_t offset, std::uint64_t all,
               list_position& position) const noexcept {
    each(all, [&](std::size_t, const std::byte* data, std::uint64_t bytes) {
      static_cast<void>(own.copy_from(data, offset, static_cast<std::size_t>(bytes), position));  // ordinary memory
      offset += bytes;
    });
  }

 private:
  static constexpr std::size_t packets_max = 8;

  template <class Visit>
  void each(std::uint64_t all, const Visit& visit) const noexcept {
    for (std::size_t i = 0; all > 0; ++i) {
      const std::uint64_t bytes = std::min<std::uint64_t>(all, packets_->packet_bytes());
      visit(i, packets_->data(held_[i]), bytes);
      all -= bytes;
    }
  }

  packet_pool* packets_;
  std::uint64_t bytes_ = 0;
  std::size_t count_ = 0;
  std::array<std::uint32_t, packets_max> held_;
};

// One call of `move`, which copies between pieces of this rank's memory and of the peer's. Of up to `bytes` bytes; then
// `bytes` says of how many.
template <class Buffer, class Move>
copy_result copy_window(device_state& dev, operation_state& operation, const payload<Buffer>& own, std::uint64_t offset,
                        std::uint64_t& bytes, list_position& position, const Move& move) noexcept {
  constexpr bool is_read = std::is_same_v<Buffer, buffer_ref>;
  window here, there;
  found_pieces mine = own.find_pieces(offset, bytes, position, here);
  const chunk packet{dev.memory().packets(), goes_by_chunk(mine.count, mine.bytes) ? bytes : 0};
  const bool by_chunk = packet.bytes() != 0;
  if (by_chunk) mine = packet.pieces(here);
  found_pieces theirs;
  copy_result answer = find_remote(dev, operation, offset, mine.bytes, there, theirs);
  if (answer != copy_result::done) return answer;
  bytes = theirs.bytes;
  cut(here, mine, bytes);
  if constexpr (!is_read) {
    if (by_chunk) packet.gather(own, offset, bytes, position);
  }
  answer = move(first_of(here, mine.count), first_of(there, theirs.count));
  if constexpr (is_read) {
    if (by_chunk && answer == copy_result::done) packet.scatter(own, offset, bytes, position);
  }
  return answer;
}

template <class Buffer, class Move>
copy_result copy(device_state& dev, operation_state& operation, const payload<Buffer>& own, std::uint64_t offset,
                 std::uint64_t bytes, const Move& move) noexcept {
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] the copying device's
  return operation.copying.with_position(own.is_list(), ticket, [&](list_position& position) {
    for (std::uint64_t copied = bytes; bytes > 0; bytes -= copied, offset += copied, copied = bytes) {
      const copy_result answer = copy_window(dev, operation, own, offset, copied, position, move);
      if (answer != copy_result::done) return answer;
    }
    return copy_result::done;
  });
}

}  // namespace

copy_result read(device_state& dev, operation_state& operation, const target_payload& into, std::uint64_t offset,
                 std::uint64_t bytes) noexcept {
  return copy(dev, operation, into, offset, bytes, [&](net::memory_pieces here, net::memory_pieces there) {
    return dev.routes().endpoint_to(operation.peer).read_remote(operation.peer, here, there);
  });
}

copy_result write(device_state& dev, operation_state& operation, const source_payload& from, std::uint64_t offset,
                  std::uint64_t bytes) noexcept {
  return copy(dev, operation, from, offset, bytes, [&](net::memory_pieces here, net::memory_pieces there) {
    return dev.routes().endpoint_to(operation.peer).write_remote(operation.peer, here, there);
  });
}

}  // namespace weft::core::direct_copy
