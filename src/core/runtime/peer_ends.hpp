// SPDX-License-Identifier: BSD-3-Clause
// Finds out that ranks have ended, and ends the operations that wait for them.
//
// A rank that has ended passes four states (peers.hpp), each reached by a look of some thread:
//   cut off   posts to it are refused. What it had sent before its end is still received.
//   closed    each device has received what it had sent. Its messages continue no operation from here on.
//   settled   each thread that was handling such a message, or posting to the rank, has ended that. Its operations
//             belong to no thread now: each look from here on ends them, with the error peer_failed.
// A rank that ended in order is not closed before every device has received its last message. For a rank that died,
// devices that no thread polls are waited for during `patience` at most, counted by looks. So that no shared device has
// to be waited for that its own threads don't poll, calls of progress on other devices poll it (`awaits_device`), until
// it has received those messages and has no step left to do for them.
//
// Cost: nothing where messages come and go. Threads that sleep look before each sleep, others once in some hundred
// calls of progress that find nothing, in a thousand that find something, and in some hundred posts that are answered
// retry; a look is a read of the clock, and once in `interval` a call of the system for each transport.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/try_lock.hpp"
#include "core/device/device_state.hpp"
#include "net/transport.hpp"

namespace weft::core {

class peer_ends {
 public:
  explicit peer_ends(runtime_state& runtime) noexcept : runtime_{&runtime} {}

  /// Called once the transports are made, before any device is.
  void expect(std::uint32_t ranks);

  /// Looks, if it is time. The calling thread is inside the gate of `dev`, and in no handler of that device.
  /// **Returns**: how many operations it has ended.
  unsigned look(device_state& dev) noexcept;
  /// Called when a thread of another device polls `dev`: notes that it has received what ended ranks have sent.
  void look_for_other(device_state& dev) noexcept {
    if (has_unsettled()) [[unlikely]]
      note_received(dev);
  }
  /// Whether messages of ranks that have ended may wait at devices that their own threads don't poll. **Threads**: any.
  [[nodiscard]] bool awaits_devices() const noexcept {
    return has_unsettled() || unfinished_.load(std::memory_order_relaxed) != 0;  // [hint] the next look sees it
  }
  /// Whether device `index` is one of them. **Threads**: any.
  [[nodiscard]] bool awaits_device(std::uint32_t index) const noexcept;
  /// Called when a thread of another device has polled `dev` for that. `has_steps`: steps of operations are left there,
  /// perhaps for those messages.
  void note_polled(device_state& dev, bool has_steps) noexcept;
  /// Looks as `look` does, after a post was answered retry: finds ranks that have ended, and ends no operation.
  /// **Threads**: any.
  void look_after_retry() noexcept;
  /// A rank has ended, as its transport did not find out: for tests. **Threads**: any.
  void note(const net::ended_peer& end) noexcept;
  /// A copy from or to a peer has failed: the next look is not put off.
  void look_soon() noexcept { next_.store(0, std::memory_order_relaxed); }  // [hint]

  /// Whether a rank has ended just now and is not settled: looks have to follow each other soon. **Threads**: any.
  [[nodiscard]] bool is_settling() const noexcept;

  /// The number of `count` operations at which a look looks to find what waits for a rank that was settled before.
  [[nodiscard]] static constexpr std::uint64_t budget_for(std::uint64_t count) noexcept {
    return std::max<std::uint64_t>(4096, count / 16);
  }
  /// The number at which the last look has looked. For tests.
  [[nodiscard]] std::uint64_t looked_at() const noexcept {
    return looked_at_.load(std::memory_order_relaxed);  // [stat]
  }

 private:
  struct ended_rank {
    std::uint32_t rank;
    std::uint32_t number;  // how many had ended with it
    base::clock::time_point seen;
    base::clock::duration waited{};  // by looks
  };
  /// The threads that were inside gates at one moment.
  struct polls {
    std::uint64_t inside = 0;  // bit: device
    std::array<std::uint64_t, net::slots_max> passes{};
  };

  static constexpr std::chrono::milliseconds interval{50};
  static constexpr std::chrono::milliseconds interval_of_settling{1};
  static constexpr std::chrono::seconds patience{1};
  /// So much of the time since the look before counts, at most: where the processes have far less than a core each, a
  /// second may pass in which no device is polled.
  static constexpr std::chrono::milliseconds counted_max{20};

  [[nodiscard]] bool has_unsettled() const noexcept {
    return unsettled_.load(std::memory_order_relaxed) != 0;  // [hint] the next look sees it
  }
  [[nodiscard]] bool begin_look() noexcept;
  bool find() noexcept;
  void add(const net::ended_peer& end) noexcept;
  void note_received(device_state& dev) noexcept;
  [[nodiscard]] bool all_have_received(const ended_rank& from) noexcept;
  [[nodiscard]] static bool is_patience_over(ended_rank& awaited) noexcept;
  void close_some() noexcept;
  [[nodiscard]] bool settle(const device_state& own) noexcept;
  unsigned end_operations(device_state& dev, bool has_just_settled) noexcept;
  [[nodiscard]] bool have_left(const device_state& own) noexcept;

  runtime_state* runtime_;
  std::atomic<base::clock::rep> next_{0};    // when the next look is due
  std::atomic<std::uint32_t> number_{0};     // number of ranks that have ended
  std::atomic<std::uint32_t> unsettled_{0};  // number of ended ranks that are not settled
  std::atomic<bool> has_settled_{false};
  std::atomic<std::uint64_t> looked_at_{0};
  std::atomic<base::clock::rep> hurry_until_{0};
  // Index: device. The messages of so many of the ended ranks are received.
  std::array<std::atomic<std::uint32_t>, net::slots_max> received_{};
  std::atomic<std::uint64_t> unfinished_{0};  // bit: device that a thread of another one polled, and left steps there
  base::try_lock looking_;
  // Under the lock.
  std::vector<net::ended_peer> found_;
  std::vector<ended_rank> open_;
  std::vector<ended_rank> closed_;
  polls before_;
  operation_walk walk_;
};

}  // namespace weft::core
