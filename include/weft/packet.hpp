// SPDX-License-Identifier: BSD-3-Clause
// Packets that the user fills: the message is written into the memory from which it is sent (yan2025-lci, 4.2.3 and
// 5.1.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "weft/post_options.hpp"
#include "weft/status.hpp"

namespace weft {

namespace core {
class packet_pool;
}

/// Options of `device::post_am` with a packet.
struct post_packet_options {
  /// The tag of the message.
  std::uint64_t tag = 0;
  /// The index of the target's device that receives the message, modulo the number of its devices.
  std::uint32_t device = any_device;
};

/// Options of `device::post_send` with a packet.
struct post_packet_send_options {
  std::uint64_t tag = 0;                         ///< see `post_send_options`
  engine_ref engine{};                           ///< see `post_send_options`
  match_policy policy = match_policy::rank_tag;  ///< see `post_send_options`
  std::uint32_t device = any_device;             ///< see `post_packet_options`
};

/// Options of `device::post_put` with a packet.
struct post_packet_put_options {
  signal_target signal = std::nullopt;  ///< see `post_put_options`
  std::uint64_t tag = 0;                ///< tag of the signal
  std::uint32_t device = any_device;    ///< see `post_packet_options`
};

/// Memory from the library's packet pool: write a message into it and post it without a copy.
/// `runtime::try_take_packet` makes one; its destructor gives the memory back, unless the packet was posted. Destroy it
/// before its runtime.
///
/// All functions: **Blocking**: never. **Threads**: any, one at a time for one packet. **Errors**: none.
class [[nodiscard]] packet {
 public:
  /// Takes the memory over; `other` counts as posted afterwards.
  packet(packet&& other) noexcept
      : pool_{std::exchange(other.pool_, nullptr)}, memory_{other.memory_}, index_{other.index_} {}
  /// Gives its own memory back, then takes that of `other` over.
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

  /// `WEFT_PACKET_BYTES` bytes to write into; empty once it has been posted. **Buffer**: the caller's until the post.
  [[nodiscard]] std::span<std::byte> memory() const noexcept {
    return pool_ != nullptr ? memory_ : std::span<std::byte>{};
  }
  /// Whether it was posted or moved from.
  [[nodiscard]] bool is_posted() const noexcept { return pool_ == nullptr; }

 private:
  friend class device;
  friend class runtime;
  packet(core::packet_pool& pool, std::span<std::byte> memory, std::uint32_t index) noexcept
      : pool_{&pool}, memory_{memory}, index_{index} {}
  void give_back() noexcept;
  // Says of a post that the packet can be posted; and what becomes of it.
  void check(const char* call, const core::packet_pool& pool, std::uint32_t peer, std::size_t bytes) const;
  void end_post(const status& answer) noexcept;

  core::packet_pool* pool_;
  std::span<std::byte> memory_;
  std::uint32_t index_;
};

}  // namespace weft
