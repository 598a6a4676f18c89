// SPDX-License-Identifier: BSD-3-Clause
// The device as its endpoints see it: it handles arriving messages (net/sink.hpp, protocol/dispatch.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/device/head_of_line_report.hpp"
#include "core/message/wire.hpp"
#include "net/message.hpp"
#include "net/sink.hpp"
#include "weft/matching_engine.hpp"

namespace weft::core {

class device_state;

/// A base, so that a handler gets from the sink to its device at no cost. **Threads**: the one inside the gate.
class message_sink {
 public:
  message_sink(const message_sink&) = delete;
  message_sink& operator=(const message_sink&) = delete;

  static constexpr std::array<net::word_kind, 2> word_kinds{
      {{static_cast<std::uint32_t>(wire::active_message), false},
       {kind_word(wire::send, static_cast<std::uint32_t>(match_policy::rank_tag)), true}}};
  template <std::size_t Kind>
  [[nodiscard]] [[gnu::always_inline]] const void* take_word(std::uint32_t source, std::uint64_t id_and_sequence,
                                                             const std::byte* tag_and_payload) noexcept {
    return Kind == 0 ? take_active_word(source, static_cast<std::uint32_t>(id_and_sequence), tag_and_payload)
                     : take_sent_word(source, id_and_sequence, tag_and_payload);
  }
  /// Whether a thread waits for the object that was signalled; then `follow_up` wakes it.
  [[nodiscard]] bool must_follow_up(const void* signalled) noexcept;
  void follow_up(const void* signalled) noexcept;
  void count_words(unsigned count) noexcept;
  [[nodiscard]] bool fast_take(std::uint32_t source, const net::header& header, const std::byte* payload,
                               std::uint32_t bytes, bool& consumed) noexcept;
  [[nodiscard]] bool fast_take_packet(const net::arrival& message, bool& consumed) noexcept;
  [[nodiscard]] bool on_message(const net::arrival& message) noexcept;
  /// The target of a message, such as a full completion object, has no room for it. The message stays in its ring,
  /// which the endpoint leaves for the rest of this poll.
  void on_target_full() noexcept;
  /// The message with this header to `peer` will never arrive (lost_message.cpp).
  void on_lost(std::uint32_t peer, const net::header& header, const char* cause) noexcept;

  /// Does what `on_message` does, for a message that was kept before.
  [[nodiscard]] bool on_kept_message(const net::arrival& message) noexcept;
  [[nodiscard]] bool is_redelivering() const noexcept { return redelivering_; }
  /// Whether a message had no room at its target since the last call.
  [[nodiscard]] bool take_full() noexcept { return std::exchange(was_full_, false); }
  /// Messages that had no room at their target lately.
  [[nodiscard]] head_of_line_report& head_of_line() noexcept { return head_of_line_; }

 protected:
  message_sink() noexcept = default;
  ~message_sink() = default;

 private:
  [[nodiscard]] device_state& dev() noexcept;
  [[nodiscard]] bool dispatch(const net::arrival& message) noexcept;
  [[nodiscard]] bool continue_operation(const net::arrival& message) noexcept;
  // An active message to a queue, and a send that matches a posted receive (core/fast/take_send.hpp).
  [[nodiscard]] const void* take_active_word(std::uint32_t source, std::uint32_t id,
                                             const std::byte* tag_and_payload) noexcept;
  [[nodiscard]] const void* take_sent_word(std::uint32_t source, std::uint64_t id_and_sequence,
                                           const std::byte* tag_and_payload) noexcept;

  bool was_full_ = false;
  bool redelivering_ = false;
  head_of_line_report head_of_line_;
};

}  // namespace weft::core
