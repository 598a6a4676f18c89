// The user's buffer of a message: one piece, or a list of several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "weft/buffer.hpp"

namespace weft::core {

/// No memory and no message is larger: a larger size is a negative number converted to unsigned, or an impossible size
/// that a peer has sent (peer_bounds.hpp).
inline constexpr std::uint64_t buffer_bytes_max = std::uint64_t{1} << 62;

/// One piece at `address`, or `count` pieces in `list`. `Buffer` is const_buffer_ref or buffer_ref.
template <class Buffer>
class payload {
 public:
  using byte_pointer = std::conditional_t<std::is_same_v<Buffer, buffer_ref>, std::byte*, const std::byte*>;

  payload() noexcept = default;
  payload(const Buffer& piece) noexcept  // NOLINT: a piece is a payload
      : address_{static_cast<byte_pointer>(piece.address())}, bytes_{piece.bytes()} {}
  explicit payload(const basic_buffer_list<Buffer>& several) noexcept : bytes_{several.bytes()} {
    if (several.buffers().size() == 1) {
      address_ = static_cast<byte_pointer>(several.buffers().front().address());
    } else {
      list_ = several.buffers().data();
      count_ = several.buffers().size();
    }
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool is_list() const noexcept { return list_ != nullptr; }
  /// The address of the one piece; null for a list.
  [[nodiscard]] byte_pointer address() const noexcept { return address_; }

  /// Whether there are more than `buffer_bytes_max` bytes, or a piece with bytes has a null address.
  [[nodiscard]] bool is_bad() const noexcept {
    if (bytes_ > buffer_bytes_max) return true;
    if (!is_list()) return address_ == nullptr && bytes_ != 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (list_[i].address() == nullptr && list_[i].bytes() != 0) return true;
    }
    return false;
  }

  /// The contiguous bytes from `offset` on; `offset` is below `bytes()`.
  [[nodiscard]] std::span<std::remove_pointer_t<byte_pointer>> piece_at(std::uint64_t offset) const noexcept {
    if (!is_list()) return {address_ + offset, static_cast<std::size_t>(bytes_ - offset)};
    const Buffer* piece = list_;
    for (; offset >= piece->bytes(); ++piece) offset -= piece->bytes();
    return {static_cast<byte_pointer>(piece->address()) + offset, static_cast<std::size_t>(piece->bytes() - offset)};
  }

  void copy_to(std::byte* out, std::uint64_t offset, std::size_t count) const noexcept {
    each_piece(offset, count, [&](auto piece) {
      std::memcpy(out, piece.data(), piece.size());
      out += piece.size();
    });
  }

  void copy_from(const std::byte* in, std::uint64_t offset, std::size_t count) const noexcept {
    each_piece(offset, count, [&](auto piece) {
      std::memcpy(piece.data(), in, piece.size());
      in += piece.size();
    });
  }

 private:
  template <class Visit>
  void each_piece(std::uint64_t offset, std::size_t count, const Visit& visit) const noexcept {
    while (count > 0) {
      auto piece = piece_at(offset);
      if (piece.size() > count) piece = piece.first(count);
      visit(piece);
      offset += piece.size();
      count -= piece.size();
    }
  }

  byte_pointer address_ = nullptr;
  std::uint64_t bytes_ = 0;
  const Buffer* list_ = nullptr;
  std::size_t count_ = 0;
};

using source_payload = payload<const_buffer_ref>;
using target_payload = payload<buffer_ref>;

}  // namespace weft::core
