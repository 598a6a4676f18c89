// SPDX-License-Identifier: BSD-3-Clause
// A thread of the program: what it sends from, and counters of the messages that it has received.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layer.hpp"

namespace mpi_amlayer {

/// The payloads of a thread of a rank: eight bytes for the number of the message, then these.
[[nodiscard]] std::vector<std::byte> pattern_of(int rank, int lane, std::size_t bytes);

/// **Threads**: any thread counts messages; the owner sends and waits.
class alignas(64) lane {
 public:
  /// `partner`: the rank that sends to this thread. Tags of long payloads are `first_tag` and those behind it.
  void prepare(int rank, int partner, int number, std::size_t bytes, int first_tag, std::size_t slots);

  /// Counts a message from the partner; `is_expected`: it has that source.
  void count(std::uint64_t number, std::span<const std::byte> payload, bool is_expected) noexcept;
  void acknowledge(std::uint64_t messages) noexcept {
    // [lane.acknowledged] release -> [lane.may_send]: the window.
    acknowledged_.fetch_add(messages, std::memory_order_release);
  }

  [[nodiscard]] std::uint64_t received() const noexcept {
    // [lane.look] acquire <- [lane.received]: the counters.
    return received_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t acknowledged() const noexcept {
    // [lane.may_send] acquire <- [lane.acknowledged]: the partner has these messages.
    return acknowledged_.load(std::memory_order_acquire);
  }
  /// How many of messages 0 to `end`, each of which is due once, were doubled or changed. **Threads**: all that
  /// count have ended.
  [[nodiscard]] std::uint64_t count_wrong(std::uint64_t end) const noexcept;

  /// Messages to send are used one after the other.
  [[nodiscard]] outgoing_message& next_outgoing() noexcept {
    outgoing_message& out = *outgoing_[next_];
    next_ = (next_ + 1) % outgoing_.size();
    return out;
  }
  [[nodiscard]] bool is_all_sent() const noexcept;

  std::uint64_t answered = 0;  ///< messages that the owner has acknowledged

 private:
  [[nodiscard]] bool is_right(std::uint64_t number, std::span<const std::byte> payload) const noexcept;

  std::atomic<std::uint64_t> received_{0};
  std::atomic<std::uint64_t> acknowledged_{0};
  std::atomic<std::uint64_t> sum_{0};  // the numbers of the messages
  std::atomic<std::uint64_t> wrong_{0};
  std::vector<std::byte> expected_;  // the partner's pattern
  std::vector<std::unique_ptr<outgoing_message>> outgoing_;
  std::size_t next_ = 0;
};

}  // namespace mpi_amlayer
