// Messages for ids that nobody has registered yet: copied aside, within a budget, until somebody does.
//
// Cost where there are none: one read of a line that nobody writes then. Keeping one allocates and takes a lock: this
// is a program's start, not its way of life.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "net/transport.hpp"
#include "weft/detail/id_table.hpp"

namespace weft::core {

class device_state;

class unexpected_messages {
 public:
  explicit unexpected_messages(std::size_t bytes_max) noexcept : bytes_max_{bytes_max} {}

  enum class answer : std::uint8_t { kept, no_room, no_longer_unexpected };

  /// Copies `message`, unless its id has a place in `known` by now. Never takes over its payload.
  [[nodiscard]] answer keep(const net::arrival& message, const detail::id_table<>& known) noexcept;

  /// Makes the messages for `id`, which is in the table by now, ready for delivery.
  void registered(std::uint32_t id);

  [[nodiscard]] bool has_ready() const noexcept {
    // [unexpected.has_ready] relaxed: what is missed now is found by the next poll.
    return ready_count_.load(std::memory_order_relaxed) != 0;
  }

  /// Hands ready messages to `to` until it has no room; returns how many were consumed.
  unsigned deliver(device_state& to) noexcept;

  /// Messages that were ever kept.
  [[nodiscard]] std::uint64_t kept() const noexcept { return kept_.load(std::memory_order_relaxed); }  // [stat]

 private:
  static bool hand_over(device_state& to, net::arrival message) noexcept;

  struct kept_message {
    net::arrival what;
    std::unique_ptr<std::byte[]> payload;
    bool has_owner;
  };

  std::mutex mutex_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::deque<kept_message> waiting_;
  std::deque<kept_message> ready_;
  std::atomic<std::uint64_t> kept_{0};
  alignas(detail::cache_line_bytes) std::atomic<std::size_t> ready_count_{0};
};

}  // namespace weft::core
