// SPDX-License-Identifier: BSD-3-Clause
// The user's buffer of a message: one piece, or a list of several; in ordinary memory, or in memory of kinds.
//
// Bytes of ordinary memory are copied here. Bytes of other memory are copied by the functions of its kind
// (memory_kinds.hpp), which may fail.
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

#include "core/memory/memory_kinds.hpp"
#include "net/memory_piece.hpp"
#include "weft/buffer.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

/// No memory and no message is larger: a larger size is a negative number converted to unsigned, or an impossible size
/// that a peer has sent (peer_bounds.hpp).
inline constexpr std::uint64_t buffer_bytes_max = std::uint64_t{1} << 62;

/// The place of a copy in a list: byte `begin` of the message is the first byte of piece `piece`.
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
      : memory_{const_cast<void*>(static_cast<const void*>(piece.address()))}, bytes_{piece.bytes()} {
    if (piece.memory() != nullptr) [[unlikely]]
      name_memory(*piece.memory());
  }
  payload(const detail::ordinary_buffer& piece) noexcept
      : memory_{piece.address}, bytes_{piece.bytes} {}  // NOLINT: too
  explicit payload(const basic_buffer_list<Buffer>& several) noexcept;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Whether it is one piece of ordinary memory.
  [[nodiscard]] bool is_ordinary() const noexcept { return rest_ == 0; }
  [[nodiscard]] bool is_list() const noexcept { return (rest_ & list_mark) != 0; }
  /// Whether bytes of it lie in other than ordinary memory.
  [[nodiscard]] bool has_kinds() const noexcept { return is_list() ? (rest_ & kinds_mark) != 0 : rest_ != 0; }
  /// Whether the operating system copies all of it by its addresses, for this rank and for peers.
  [[nodiscard]] bool is_for_peers() const noexcept {
    return !has_kinds() || (!is_list() && memory_copies::is_for_peers(*memory()));
  }
  /// The memory of one piece; null for ordinary memory, and for a list.
  [[nodiscard]] const weft::memory* memory() const noexcept {
    return is_list() ? nullptr : reinterpret_cast<const weft::memory*>(rest_);
  }
  /// The address of the one piece of ordinary memory; null for a list, and for other memory.
  [[nodiscard]] byte_pointer address() const noexcept {
    return is_ordinary() ? static_cast<byte_pointer>(memory_) : nullptr;
  }
  /// The address of the one piece, in any memory, where `is_list` has answered false.
  [[nodiscard]] byte_pointer address_of_piece() const noexcept { return static_cast<byte_pointer>(memory_); }
  /// The list; null if there is one piece.
  [[nodiscard]] const Buffer* list() const noexcept {
    return is_list() ? static_cast<const Buffer*>(memory_) : nullptr;
  }
  /// Buffers of the list; 0 if there is one piece.
  [[nodiscard]] std::uint64_t pieces() const noexcept { return is_list() ? rest_ >> pieces_shift : 0; }
  /// Bytes of a piece, on average. 0: how long pieces are is not known here.
  [[nodiscard]] std::uint64_t piece_bytes() const noexcept {
    if (has_kinds()) return 0;
    return is_list() ? bytes_ / pieces() : bytes_;
  }

  /// Whether there are more than `buffer_bytes_max` bytes, a piece with bytes has a null address, or the list is longer
  /// than `buffer_list_pieces_max`.
  [[nodiscard]] bool is_bad() const noexcept {
    return bytes_ > buffer_bytes_max || (memory_ == nullptr && bytes_ != 0 && !is_layout());
  }
  /// Whether a bad list is too long. It was not walked.
  [[nodiscard]] bool is_too_long() const noexcept { return rest_ == too_many; }

  /// Copies bytes `offset` to `offset + count - 1`. `position` is any position in this list, and afterwards that of the
  /// last byte. False: a function of a kind of memory has failed, and some of the bytes may be copied.
  [[nodiscard]] bool copy_to(std::byte* out, std::uint64_t offset, std::size_t count,
                             list_position& position) const noexcept {
    return each_piece(offset, count, position,
                      [&](const weft::memory* memory, byte_pointer piece, std::uint64_t from, std::size_t bytes) {
                        if (memory != nullptr && !memory_copies::copy_out(*memory, piece, from, out, bytes))
                          return false;
                        if (memory == nullptr) copy(out, piece + from, bytes);
                        out += bytes;
                        return true;
                      });
  }
  [[nodiscard]] bool copy_from(const std::byte* source, std::uint64_t offset, std::size_t count,
                               list_position& position) const noexcept {
    return each_piece(offset, count, position,
                      [&](const weft::memory* memory, byte_pointer piece, std::uint64_t to, std::size_t bytes) {
                        if (memory != nullptr && !memory_copies::copy_in(*memory, piece, to, source, bytes))
                          return false;
                        if (memory == nullptr) copy(piece + to, source, bytes);
                        source += bytes;
                        return true;
                      });
  }
  // Copies from the first byte on.
  [[nodiscard]] bool copy_to(std::byte* out, std::size_t count) const noexcept {
    list_position position;
    return copy_to(out, 0, count, position);
  }
  [[nodiscard]] bool copy_from(const std::byte* source, std::size_t count) const noexcept {
    list_position position;
    return copy_from(source, 0, count, position);
  }

  /// Calls `visit(memory, address, bytes)` for each piece with bytes until it answers false; whether it never did.
  template <class Visit>
  bool each_buffer(const Visit& visit) const {
    if (!is_list()) return bytes_ == 0 || visit(memory(), static_cast<const void*>(memory_), bytes_);
    for (std::uint64_t i = 0; i < pieces(); ++i) {
      const Buffer& each = list()[i];
      if (each.bytes() != 0 &&
          !visit(kind_of(each), static_cast<const void*>(each.address()), std::uint64_t{each.bytes()}))
        return false;
    }
    return true;
  }

  /// The pieces of bytes `offset` to `offset + count - 1`, of as many as `out` has room for. `position` as for a copy.
  /// Only where `is_for_peers`.
  [[nodiscard]] found_pieces find_pieces(std::uint64_t offset, std::uint64_t count, list_position& position,
                                         std::span<net::memory_piece> out) const noexcept;

 private:
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    if (bytes <= short_bytes_max) {
      detail::copy_inline(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  // Moves `position` to the piece of byte `offset`, which is below `bytes()`.
  void seek(list_position& position, std::uint64_t offset) const noexcept {
    while (offset < position.begin) position.begin -= list()[--position.piece].bytes();
    while (offset - position.begin >= list()[position.piece].bytes())
      position.begin += list()[position.piece++].bytes();
  }

  // The memory of a piece that its functions copy; null: ordinary memory.
  [[nodiscard]] static const weft::memory* kind_of(const Buffer& piece) noexcept {
    return piece.memory() != nullptr && !memory_copies::is_ordinary(*piece.memory()) ? piece.memory() : nullptr;
  }
  [[nodiscard]] bool is_layout() const noexcept { return memory() != nullptr && memory_copies::is_layout(*memory()); }
  void name_memory(const weft::memory& memory) noexcept {
    if (!memory_copies::is_ordinary(memory)) rest_ = reinterpret_cast<std::uintptr_t>(&memory);
  }

  // Calls `visit(memory, address, offset, bytes)` for each piece of these bytes, with the part of it, until it answers
  // false; whether it never did.
  template <class Visit>
  [[nodiscard]] bool each_piece(std::uint64_t offset, std::size_t count, list_position& position,
                                const Visit& visit) const noexcept {
    if (count == 0) return true;
    if (!is_list()) return visit(memory(), static_cast<byte_pointer>(memory_), offset, count);
    seek(position, offset);
    const Buffer* piece = list() + position.piece;
    std::uint64_t piece_offset = offset - position.begin;
    for (;;) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(piece->bytes() - piece_offset, count));
      if (bytes != 0 && !visit(kind_of(*piece), static_cast<byte_pointer>(piece->address()), piece_offset, bytes)) {
        position.piece = static_cast<std::uint32_t>(piece - list());
        return false;
      }
      count -= bytes;
      if (count == 0) break;
      position.begin += piece->bytes();
      piece_offset = 0;
      ++piece;
    }
    position.piece = static_cast<std::uint32_t>(piece - list());
    return true;
  }

  static constexpr std::size_t short_bytes_max = 16;
  static constexpr std::uint64_t too_many = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t list_mark = 1;
  static constexpr std::uint64_t kinds_mark = 2;
  static constexpr unsigned pieces_shift = 2;
  static_assert(buffer_list_pieces_max < too_many >> pieces_shift);
  static_assert(alignof(void*) > kinds_mark, "the address of a memory has neither mark");

  void* memory_ = nullptr;  // the piece, or the list
  std::uint64_t bytes_ = 0;
  // 0: one piece of ordinary memory. With `list_mark`: a list of `rest_ >> pieces_shift` pieces, with `kinds_mark` one
  // that has others than ordinary memory. Else the address of the one piece's memory.
  std::uint64_t rest_ = 0;
};

template <class Buffer>
payload<Buffer>::payload(const basic_buffer_list<Buffer>& several) noexcept {
  const std::span<const Buffer> list = several.buffers();
  if (list.size() > buffer_list_pieces_max) {
    bytes_ = std::numeric_limits<std::uint64_t>::max();
    rest_ = too_many;  // its memory stays null
    return;
  }
  bool is_whole = true;
  bool is_one = true;
  bool has_null = false;
  bool has_kinds = false;
  const void* first = nullptr;
  std::uintptr_t end = 0;
  for (const Buffer& each : list) {
    if (each.bytes() == 0) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(each.address());
    const weft::memory* const kind = kind_of(each);
    has_kinds |= kind != nullptr;
    if (bytes_ == 0) {
      first = each.address();
    } else {
      is_one &= address == end;
    }
    end = address + each.bytes();
    has_null |= address == 0 && (kind == nullptr || !memory_copies::is_layout(*kind));
    is_whole &= !__builtin_add_overflow(bytes_, std::uint64_t{each.bytes()}, &bytes_);
  }
  if (!is_whole) bytes_ = std::numeric_limits<std::uint64_t>::max();
  if (has_null) return;
  is_one &= !has_kinds;
  memory_ = const_cast<void*>(is_one ? first : static_cast<const void*>(list.data()));
  if (!is_one) rest_ = list.size() << pieces_shift | list_mark | (has_kinds ? kinds_mark : 0);
}

template <class Buffer>
found_pieces payload<Buffer>::find_pieces(std::uint64_t offset, std::uint64_t count, list_position& position,
                                          std::span<net::memory_piece> out) const noexcept {
  found_pieces found;
  if (!is_list()) {
    out[0] = net::piece_of(address_of_piece() + offset, count);
    return {1, count};
  }
  seek(position, offset);
  std::uint64_t piece_offset = offset - position.begin;
  for (;;) {
    const Buffer& piece = list()[position.piece];
    const std::uint64_t bytes = std::min(piece.bytes() - piece_offset, count - found.bytes);
    const net::memory_piece next = net::piece_of(static_cast<byte_pointer>(piece.address()) + piece_offset, bytes);
    net::memory_piece* const last = found.count != 0 ? &out[found.count - 1] : nullptr;
    if (last != nullptr && last->address + last->bytes == next.address) {
      last->bytes += bytes;
    } else if (bytes != 0) {
      if (found.count == out.size()) return found;
      out[found.count++] = next;
    }
    found.bytes += bytes;
    if (found.bytes == count) return found;
    position.begin += piece.bytes();
    ++position.piece;
    piece_offset = 0;
  }
}

using source_payload = payload<const_buffer_ref>;
using target_payload = payload<buffer_ref>;

}  // namespace weft::core
