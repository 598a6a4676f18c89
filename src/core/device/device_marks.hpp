// What a post asks about its device before it takes the shortest path: one byte.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::core {

class device_marks {
 public:
  explicit device_marks(bool shared) noexcept : marks_{shared ? shared_mark : std::uint8_t{0}} {}

  [[nodiscard]] bool is_shared() const noexcept { return (now() & shared_mark) != 0; }
  /// Whether posts have to ask kinds of memory whether an address is of theirs (memory_kinds.hpp).
  [[nodiscard]] bool looks_at_addresses() const noexcept { return (now() & addresses_mark) != 0; }
  /// Whether neither is true.
  [[nodiscard]] bool are_none() const noexcept { return now() == 0; }

  /// **Threads**: one at a time.
  void look_at_addresses(bool look) noexcept {
    const auto others = static_cast<std::uint8_t>(now() & shared_mark);
    // [hint] a buffer of a kind that is made meanwhile is none that a post may know
    marks_.store(static_cast<std::uint8_t>(others | (look ? addresses_mark : 0)), std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint8_t shared_mark = 1;
  static constexpr std::uint8_t addresses_mark = 2;

  [[nodiscard]] std::uint8_t now() const noexcept {
    return marks_.load(std::memory_order_relaxed);
  }  // [hint] see above

  std::atomic<std::uint8_t> marks_;
};

}  // namespace weft::core
