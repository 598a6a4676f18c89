// What messages hold. The first byte says whether it is the last message (or window) of its series, the second one
// which message it is; the others are filled only where they are looked at again.
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace weft::perf
