// Messages that are written where they are sent from (yan2025-lci, 4.2.3 and 5.1.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace weft {

namespace core {
class packet_pool;
}

/// Options of `device::post_am` with a packet.
struct post_packet_options {
  /// Carried to the target as it is.
  std::uint64_t tag = 0;
  /// The target's device that is to receive the message; taken modulo their number.
  std::uint32_t device = ~std::uint32_t{0};
};

/// Memory of the library's to write a message into, which is then posted without being copied. From
/// `runtime::try_take_packet`; given back when it is posted or goes. **Blocking**: never. **Threads**: one at a time;
/// any may give it back. It has to go before its runtime does.
class [[nodiscard]] packet {
 public:
  /// `other` counts as posted then.
  packet(packet&& other) noexcept
      : pool_{std::exchange(other.pool_, nullptr)}, memory_{other.memory_}, index_{other.index_} {}
  /// The same, after its own has been given back.
  packet& operator=(packet&& other) noexcept {
    if (this != &other) {
      if (pool_ != nullptr) give_back();
      pool_ = std::exchange(other.pool_, nullptr);
      memory_ = other.memory_;
      index_ = other.index_;
    }
    return *this;
  }
  packet(const packet&) = delete;
  packet& operator=(const packet&) = delete;
  ~packet() {
    if (pool_ != nullptr) give_back();
  }

  /// `WEFT_PACKET_BYTES` bytes to write into; none once it has been posted.
  [[nodiscard]] std::span<std::byte> memory() const noexcept {
    return pool_ != nullptr ? memory_ : std::span<std::byte>{};
  }
  /// Posted, or moved from.
  [[nodiscard]] bool is_posted() const noexcept { return pool_ == nullptr; }

 private:
  friend class device;
  friend class runtime;
  packet(core::packet_pool& pool, std::span<std::byte> memory, std::uint32_t index) noexcept
      : pool_{&pool}, memory_{memory}, index_{index} {}
  void give_back() noexcept;

  core::packet_pool* pool_;
  std::span<std::byte> memory_;
  std::uint32_t index_;
};

}  // namespace weft
