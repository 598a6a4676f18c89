// SPDX-License-Identifier: BSD-3-Clause
// Messages that can't be delivered yet: their id is not registered yet, or no operation is free for their RTS. They are
// copied, within a budget. Also RTS that no receive will ever match, until an operation is free to answer their
// senders.
//
// Cost if there are none: one read of a line that is not written then. Keeping a message allocates and takes a lock:
// that happens while a program starts, not all the time.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "base/id_table.hpp"
#include "base/log.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/message/wire.hpp"
#include "net/transport.hpp"

namespace weft::core {

class device_state;

class kept_messages {
 public:
  explicit kept_messages(std::size_t bytes_max) noexcept : bytes_max_{bytes_max} {}

  enum class answer : std::uint8_t { kept, no_room, registered_now };

  /// Copies `message`, unless its id is in `known` by now. The payload stays the transport's.
  [[nodiscard]] answer keep(const net::arrival& message, const base::id_table<>& known) noexcept;

  /// Copies `message`, for which a resource was short, to deliver it later; false if there is no room. So it does not
  /// delay its peer's messages behind it: one of them may free that resource.
  [[nodiscard]] bool put_aside(const net::arrival& message) noexcept;

  /// Keeps the description of an RTS that no receive will match. The list is intrusive, so there is always room.
  void put_aside(ordered_message& unwanted) noexcept;
  /// How many such RTS are kept. A later call counts an RTS that this one misses.
  [[nodiscard]] std::size_t unwanted_count() const noexcept {
    return unwanted_count_.load(std::memory_order_relaxed);  // [hint] the lock carries them
  }
  /// The oldest such RTS, or null; it belongs to the caller again.
  [[nodiscard]] ordered_message* take_unwanted() noexcept;

  /// Drops an RTS of this kind from `source`, whose operation has `ticket` there. False: it is not here.
  [[nodiscard]] bool drop_rts(std::uint32_t source, wire kind, std::uint64_t ticket) noexcept;

  /// Makes the messages for `id`, of a completion or of an engine, which is in its table by now, ready for delivery.
  void registered(std::uint32_t id, bool is_engine = false);

  /// Whether something waits for a call of progress: messages, or what ordered engines have left (order_rest.hpp).
  [[nodiscard]] bool has_ready() const noexcept {
    // [kept.has_ready] relaxed <- [kept.ready]: the next poll finds a message that is missed now.
    return ready_count_.load(std::memory_order_relaxed) != 0;
  }
  /// Whether something waits that a call of progress can do: not only notices, for which a peer has to make room.
  [[nodiscard]] bool has_work() const noexcept {
    // [kept.has_ready] relaxed <- [kept.ready]: the next poll finds what is missed now.
    return ready_count_.load(std::memory_order_relaxed) % one_notice != 0;
  }
  /// Whether calls of progress have to look at `order_rest`.
  [[nodiscard]] bool has_order_rest() const noexcept {
    // [kept.has_ready] relaxed <- [kept.ready]: the next poll finds what is missed now.
    return ready_count_.load(std::memory_order_relaxed) >= one_early;
  }
  /// `order_rest` has one source of early messages more, or one less.
  void count_early(int change) noexcept { add_ready(change > 0 ? one_early : 0 - one_early); }
  /// `order_rest` has notices from now on, or none.
  void count_notices(int change) noexcept { add_ready(change > 0 ? one_notice : 0 - one_notice); }

  /// Delivers ready messages on device `to` until there is no room for one; returns how many were consumed.
  unsigned deliver(device_state& to) noexcept;

  /// Calls `visit(const net::arrival&)` for each message whose id is not registered yet, unless another thread holds
  /// the lock. For reports.
  template <class Visit>
  void try_each(const Visit& visit) {
    const std::unique_lock lock{mutex_, std::try_to_lock};
    if (!lock) return;
    for (const kept_message& each : waiting_) visit(each.arrival);
  }

  /// Whether the used part of the budget is the sum of the kept messages' parts.
  [[nodiscard]] bool is_consistent() noexcept;

  /// Messages that were ever kept.
  [[nodiscard]] std::uint64_t count() const noexcept { return kept_.load(std::memory_order_relaxed); }  // [stat]

 private:
  static bool hand_over(device_state& to, const net::arrival& message) noexcept;

  struct kept_message {
    net::arrival arrival;
    std::unique_ptr<std::byte[]> payload;
    bool has_owner;
  };

  using messages = std::list<kept_message>;  // moved from list to list without allocating

  // Adds a copy of `message` to `to`, within the budget; false if there is no room.
  [[nodiscard]] bool copy(const net::arrival& message, messages& to) noexcept;
  void say_full(const net::arrival& message) noexcept;
  // Called after each change of `ready_` and `unwanted_`, under the lock.
  void count_ready() noexcept {
    const std::uint64_t now = ready_.size() + unwanted_count();
    add_ready(now - counted_);
    counted_ = now;
  }
  void add_ready(std::uint64_t more) noexcept {
    // [kept.ready] relaxed -> [kept.has_ready]: a lock carries what is ready.
    ready_count_.fetch_add(more, std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  base::said_once said_full_;
  messages waiting_;
  messages ready_;
  matched_messages unwanted_;
  std::atomic<std::size_t> unwanted_count_{0};  // changes under the lock
  std::atomic<std::uint64_t> kept_{0};
  std::uint64_t counted_ = 0;  // last value of `ready_count_`
  // Messages that are ready; then sources of `order_rest`; then whether it has notices.
  static constexpr std::uint64_t one_early = std::uint64_t{1} << 40;
  static constexpr std::uint64_t one_notice = std::uint64_t{1} << 56;
  alignas(detail::cache_line_bytes) std::atomic<std::uint64_t> ready_count_{0};
};

}  // namespace weft::core
