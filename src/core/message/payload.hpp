// The user's buffer of a message: one piece, or a list of several.
//
// A list is walked twice: its sizes are added when it is posted, and then its bytes are copied. A copy of some of the
// bytes leaves a `list_position` behind, from which the next copy goes to its first piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "net/memory_piece.hpp"
#include "weft/buffer.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

/// No memory and no message is larger: a larger size is a negative number converted to unsigned, or an impossible size
/// that a peer has sent (peer_bounds.hpp).
inline constexpr std::uint64_t buffer_bytes_max = std::uint64_t{1} << 62;

/// Where a copy is in a list: byte `begin` of the message is the first byte of piece `piece`.
struct list_position {
  std::uint64_t begin = 0;
  std::uint32_t piece = 0;
};

/// How many pieces were found, and how many bytes they have.
struct found_pieces {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

/// One piece at `address`, or several in a list. `Buffer` is const_buffer_ref or buffer_ref. A list whose pieces
/// lie one behind the other in memory is one piece.
template <class Buffer>
class payload {
 public:
  using byte_pointer = std::conditional_t<std::is_same_v<Buffer, buffer_ref>, std::byte*, const std::byte*>;

  payload() noexcept = default;
  payload(const Buffer& piece) noexcept  // NOLINT: a piece is a payload
      : memory_{const_cast<void*>(static_cast<const void*>(piece.address()))}, bytes_{piece.bytes()} {}
  explicit payload(const basic_buffer_list<Buffer>& several) noexcept;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool is_list() const noexcept { return pieces_ != 0; }
  /// The address of the one piece; null for a list.
  [[nodiscard]] byte_pointer address() const noexcept {
    return is_list() ? nullptr : static_cast<byte_pointer>(memory_);
  }
  /// The same where `is_list` has answered false.
  [[nodiscard]] byte_pointer address_of_piece() const noexcept { return static_cast<byte_pointer>(memory_); }
  /// The list; null if there is one piece.
  [[nodiscard]] const Buffer* list() const noexcept {
    return is_list() ? static_cast<const Buffer*>(memory_) : nullptr;
  }
  /// Buffers of the list; 0 if there is one piece.
  [[nodiscard]] std::uint64_t pieces() const noexcept { return pieces_; }
  /// Bytes of a piece, on average.
  [[nodiscard]] std::uint64_t piece_bytes() const noexcept { return is_list() ? bytes_ / pieces_ : bytes_; }

  /// Whether there are more than `buffer_bytes_max` bytes, a piece with bytes has a null address, or the list is longer
  /// than `buffer_list_pieces_max`.
  [[nodiscard]] bool is_bad() const noexcept {
    return bytes_ > buffer_bytes_max || (memory_ == nullptr && bytes_ != 0);
  }
  /// Of a bad one: whether the list is too long. It was not walked.
  [[nodiscard]] bool is_too_long() const noexcept { return pieces_ == too_many; }

  /// Bytes `offset` to `offset + count - 1`. `at` is any position in this list, and afterwards that of the last byte.
  void copy_to(std::byte* out, std::uint64_t offset, std::size_t count, list_position& at) const noexcept {
    each_piece(offset, count, at, [&](const std::byte* piece, std::size_t bytes) {
      copy(out, piece, bytes);
      out += bytes;
    });
  }
  void copy_from(const std::byte* in, std::uint64_t offset, std::size_t count, list_position& at) const noexcept {
    each_piece(offset, count, at, [&](byte_pointer piece, std::size_t bytes) {
      copy(piece, in, bytes);
      in += bytes;
    });
  }
  // The same from the first byte on.
  void copy_to(std::byte* out, std::size_t count) const noexcept {
    list_position at;
    copy_to(out, 0, count, at);
  }
  void copy_from(const std::byte* in, std::size_t count) const noexcept {
    list_position at;
    copy_from(in, 0, count, at);
  }

  /// The pieces of bytes `offset` to `offset + count - 1`, of as many as `out` has room for. `at` as for a copy.
  [[nodiscard]] found_pieces find_pieces(std::uint64_t offset, std::uint64_t count, list_position& at,
                                         std::span<net::memory_piece> out) const noexcept;

 private:
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    if (bytes <= short_bytes_max) {
      detail::copy_inline(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  // Moves `at` to the piece of byte `offset`, which is below `bytes()`.
  void seek(list_position& at, std::uint64_t offset) const noexcept {
    while (offset < at.begin) at.begin -= list()[--at.piece].bytes();
    while (offset - at.begin >= list()[at.piece].bytes()) at.begin += list()[at.piece++].bytes();
  }

  template <class Visit>
  void each_piece(std::uint64_t offset, std::size_t count, list_position& at, const Visit& visit) const noexcept {
    if (count == 0) return;
    if (!is_list()) return visit(address() + offset, count);
    seek(at, offset);
    const Buffer* piece = list() + at.piece;
    std::uint64_t in = offset - at.begin;
    for (;;) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(piece->bytes() - in, count));
      visit(static_cast<byte_pointer>(piece->address()) + in, bytes);
      count -= bytes;
      if (count == 0) break;
      at.begin += piece->bytes();
      in = 0;
      ++piece;
    }
    at.piece = static_cast<std::uint32_t>(piece - list());
  }

  static constexpr std::size_t short_bytes_max = 16;
  static constexpr std::uint64_t too_many = std::numeric_limits<std::uint64_t>::max();
  static_assert(buffer_list_pieces_max < too_many);

  void* memory_ = nullptr;  // the piece, or the list
  std::uint64_t bytes_ = 0;
  std::uint64_t pieces_ = 0;  // of the list; 0: one piece
};

template <class Buffer>
payload<Buffer>::payload(const basic_buffer_list<Buffer>& several) noexcept {
  const std::span<const Buffer> list = several.buffers();
  if (list.size() > buffer_list_pieces_max) {
    bytes_ = std::numeric_limits<std::uint64_t>::max();
    pieces_ = too_many;  // its memory stays null
    return;
  }
  bool is_whole = true;
  bool is_one = true;
  bool has_null = false;
  const void* first = nullptr;
  std::uintptr_t end = 0;
  for (const Buffer& each : list) {
    if (each.bytes() == 0) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(each.address());
    if (bytes_ == 0) {
      first = each.address();
    } else {
      is_one &= address == end;
    }
    end = address + each.bytes();
    has_null |= address == 0;
    is_whole &= !__builtin_add_overflow(bytes_, std::uint64_t{each.bytes()}, &bytes_);
  }
  if (!is_whole) bytes_ = std::numeric_limits<std::uint64_t>::max();
  if (has_null) return;
  memory_ = const_cast<void*>(is_one ? first : static_cast<const void*>(list.data()));
  pieces_ = is_one ? 0 : list.size();
}

template <class Buffer>
found_pieces payload<Buffer>::find_pieces(std::uint64_t offset, std::uint64_t count, list_position& at,
                                          std::span<net::memory_piece> out) const noexcept {
  found_pieces found;
  if (!is_list()) {
    out[0] = net::piece_of(address() + offset, count);
    return {1, count};
  }
  seek(at, offset);
  std::uint64_t in = offset - at.begin;
  for (;;) {
    const Buffer& piece = list()[at.piece];
    const std::uint64_t bytes = std::min(piece.bytes() - in, count - found.bytes);
    const net::memory_piece next = net::piece_of(static_cast<byte_pointer>(piece.address()) + in, bytes);
    net::memory_piece* const last = found.count != 0 ? &out[found.count - 1] : nullptr;
    if (last != nullptr && last->address + last->bytes == next.address) {
      last->bytes += bytes;
    } else if (bytes != 0) {
      if (found.count == out.size()) return found;
      out[found.count++] = next;
    }
    found.bytes += bytes;
    if (found.bytes == count) return found;
    at.begin += piece.bytes();
    ++at.piece;
    in = 0;
  }
}

using source_payload = payload<const_buffer_ref>;
using target_payload = payload<buffer_ref>;

}  // namespace weft::core
