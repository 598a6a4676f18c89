// SPDX-License-Identifier: BSD-3-Clause
// The content of messages. The first byte says whether it is the last message (or window) of its series, the second one
// which message it is; the others are filled only where they are looked at again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "weft-perf/report/point.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

inline constexpr std::byte go_on{0};
inline constexpr std::byte was_last{1};

[[nodiscard]] inline std::byte content_at(std::byte message, std::size_t index) noexcept {
  return static_cast<std::byte>((static_cast<std::size_t>(message) * 131 + index * 7 + (index >> 8)) & 0xff);
}

/// All but the first byte.
inline void fill(std::span<std::byte> bytes, std::uint64_t message) noexcept {
  if (bytes.size() < 2) return;
  bytes[1] = static_cast<std::byte>(message & 0xff);
  for (std::size_t i = 2; i < bytes.size(); ++i) bytes[i] = content_at(bytes[1], i);
}

[[nodiscard]] inline bool is_filled(std::span<const std::byte> bytes, std::size_t wanted) noexcept {
  if (bytes.size() != wanted) return false;
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    if (bytes[i] != content_at(bytes[1], i)) return false;
  }
  return true;
}

/// Buffers of one size, each at lines of its own, in memory of either kind.
class buffers {
 public:
  buffers(weft::runtime& rt, memory kind, std::size_t bytes, std::size_t count)
      : bytes_{bytes}, stride_{(bytes + 4095) / 4096 * 4096 + 64} {
    const std::size_t all = stride_ * count + 4096;
    if (kind == memory::weft) {
      region_ = std::make_unique<memory_region>(rt, all);
      memory_ = region_->memory();
    } else {
      own_.resize(all);
      memory_ = own_;
    }
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(memory_.data()) % 4096;
    begin_ = misaligned == 0 ? 0 : 4096 - misaligned;
  }

  [[nodiscard]] std::span<std::byte> operator[](std::size_t index) const noexcept {
    return memory_.subspan(begin_ + index * stride_, bytes_);
  }
  [[nodiscard]] std::span<std::byte> all() const noexcept { return memory_; }
  /// Where a buffer begins in `all()`.
  [[nodiscard]] std::size_t offset(std::size_t index) const noexcept { return begin_ + index * stride_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] const memory_region* region() const noexcept { return region_.get(); }

 private:
  std::size_t bytes_;
  std::size_t stride_;
  std::size_t begin_ = 0;
  std::vector<std::byte> own_;
  std::unique_ptr<memory_region> region_;
  std::span<std::byte> memory_;
};

/// The message of a buffer as a list: in pieces, a cache line apart, in memory of its own.
class pieces {
 public:
  static constexpr std::size_t gap_bytes = 64;

  pieces(std::size_t bytes, std::size_t piece_bytes) : memory_((bytes / piece_bytes + 1) * (piece_bytes + gap_bytes)) {
    for (std::size_t offset = 0; offset < bytes; offset += piece_bytes) {
      std::byte* const begin = memory_.data() + offset / piece_bytes * (piece_bytes + gap_bytes);
      into_.emplace_back(begin, std::min(piece_bytes, bytes - offset));
      from_.emplace_back(begin, std::min(piece_bytes, bytes - offset));
    }
  }

  [[nodiscard]] const_buffer_list from() const noexcept { return std::span{from_}; }
  [[nodiscard]] buffer_list into() const noexcept { return std::span{into_}; }

  /// Writes the first `count` bytes of the message from `bytes`.
  void scatter(std::span<const std::byte> bytes, std::size_t count) noexcept {
    each(count, [&](std::byte* piece, std::size_t offset, std::size_t part) {
      std::memcpy(piece, bytes.data() + offset, part);
    });
  }
  void gather(std::span<std::byte> bytes, std::size_t count) const noexcept {
    each(count, [&](const std::byte* piece, std::size_t offset, std::size_t part) {
      std::memcpy(bytes.data() + offset, piece, part);
    });
  }

 private:
  template <class Visit>
  void each(std::size_t count, const Visit& visit) const noexcept {
    std::size_t offset = 0;
    for (auto piece = into_.begin(); offset < count; ++piece) {
      const std::size_t part = std::min(piece->bytes(), count - offset);
      visit(static_cast<std::byte*>(piece->address()), offset, part);
      offset += part;
    }
  }

  std::vector<std::byte> memory_;
  std::vector<buffer_ref> into_;
  std::vector<const_buffer_ref> from_;
};

/// The lists of the buffers that a side uses, made at their first use.
class piece_lists {
 public:
  explicit piece_lists(const point& measured) noexcept
      : piece_bytes_{measured.piece_bytes}, is_verified_{measured.verify} {}

  /// Whether a message of this size is a list.
  [[nodiscard]] bool has(std::size_t bytes) const noexcept { return piece_bytes_ != 0 && bytes > piece_bytes_; }
  /// The list to send instead of `bytes`, with the bytes that the receiver compares.
  [[nodiscard]] const_buffer_list from(std::span<const std::byte> bytes) {
    pieces& out = pieces_of(bytes.data(), bytes.size());
    out.scatter(bytes, is_verified_ ? bytes.size() : 1);
    return out.from();
  }
  [[nodiscard]] buffer_list into(std::span<std::byte> bytes) { return pieces_of(bytes.data(), bytes.size()).into(); }
  /// Copies the bytes that are compared into `bytes`, from the list that has received in its stead.
  void take(std::span<std::byte> bytes) {
    if (has(bytes.size())) pieces_of(bytes.data(), bytes.size()).gather(bytes, is_verified_ ? bytes.size() : 1);
  }

 private:
  pieces& pieces_of(const std::byte* buffer, std::size_t bytes) {
    return made_.try_emplace(buffer, bytes, piece_bytes_).first->second;
  }

  std::size_t piece_bytes_;
  bool is_verified_;
  std::map<const std::byte*, pieces> made_;
};

}  // namespace weft::perf
