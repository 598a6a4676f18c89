// SPDX-License-Identifier: BSD-3-Clause
// How long messages of each peer travel to this rank (core/message/peer_choice.hpp), unless a setting decides.
//
// Memory: a pointer for each rank, and 2 KiB for a peer from its first long message on. If there is no memory for them,
// its messages are copied by both sides.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "core/message/copy_choice.hpp"
#include "core/message/peer_choice.hpp"

namespace weft::core {

struct operation_state;

class copy_choices {
 public:
  copy_choices(std::uint32_t rank, std::uint32_t rank_count, const base::settings& settings);
  ~copy_choices();
  copy_choices(const copy_choices&) = delete;
  copy_choices& operator=(const copy_choices&) = delete;

  /// Chooses how the long message that `receiving` receives travels, whose RTS has arrived. **Threads**: any.
  void begin(operation_state& receiving) noexcept;
  /// All its bytes have arrived. Writes a line of level info if that changes the choice for later ones. **Threads**:
  /// any.
  void end(const operation_state& receiving) noexcept;

  /// How most messages of so many bytes from `peer` travel.
  [[nodiscard]] copy_method usual(std::uint32_t peer, std::uint64_t bytes) const noexcept;
  /// How messages of so many bytes from `peer` travel, and why, for people: a line or several, each with its end.
  [[nodiscard]] std::string describe(std::uint32_t peer, std::uint64_t bytes) const;

 private:
  [[nodiscard]] peer_choice* choice_of(std::uint32_t peer) noexcept;
  [[nodiscard]] timed_copy choose(const operation_state& receiving) noexcept;
  [[nodiscard]] class_methods methods_of(std::size_t index) const noexcept;
  [[nodiscard]] bool try_read(std::uint32_t peer, std::size_t index, class_choice& out) const noexcept;
  [[nodiscard]] double times_for_ns() const noexcept;
  void log_change(std::uint32_t peer, std::size_t index, peer_choice& about) const noexcept;
  [[nodiscard]] std::string speeds_of(const class_choice& known) const;
  [[nodiscard]] std::string bounds_of(std::size_t index) const;

  std::uint32_t rank_;
  std::uint32_t rank_count_;
  long_messages long_messages_;
  std::uint8_t asked_pages_;
  std::uint64_t packet_bytes_;
  // When the runtime began, by both clocks: tells how long a tick is.
  std::uint64_t began_time_;
  base::clock::time_point began_;
  std::unique_ptr<std::atomic<peer_choice*>[]> peers_;  // index: rank; null until its first long message
};

}  // namespace weft::core
