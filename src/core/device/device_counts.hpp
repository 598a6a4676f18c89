// SPDX-License-Identifier: BSD-3-Clause
// The counts of a device, which are always on.
//
// Cost of a post: two words of a line that this thread alone writes, on a device of its own or as one of the first
// threads with a slot; two locked additions for any other thread. Twice as much for bytes that are sent neither inline
// nor into mapped memory. Cost of a call of progress: a word of the poller's line, two if messages have come, and one
// more for each message. A thread that reads the counts waits for no other thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/counters.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/raw_record.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::core {

/// The members of `path_counters`, in their order.
enum class path : std::uint8_t { one_packet, many_packets, copied, copied_by_both };

class device_counts {
 public:
  explicit device_counts(bool shared) noexcept : shared_{shared} {}
  /// **Threads**: none uses the device.
  void set_shared(bool shared) noexcept { shared_ = shared; }

  // Called by the thread that posts.

  [[gnu::always_inline]] void posted(operation opcode, std::uint64_t bytes) noexcept {
    const std::uint32_t slot = shared_ ? detail::cached_thread_slot : 0;
    if (slot >= lanes_.size()) [[unlikely]]
      return posted_by_others(opcode, bytes);
    posted_in(lanes_[slot], opcode, bytes);
  }
  /// A post on a device of one thread's own.
  [[gnu::always_inline]] void posted_alone(operation opcode, std::uint64_t bytes) noexcept {
    posted_in(lanes_[0], opcode, bytes);
  }

  /// The answer to a post.
  [[nodiscard]] status answered(operation opcode, std::uint64_t bytes, status answer) noexcept {
    if (answer.is_retry()) return retried(answer);
    posted(opcode, bytes);
    return answer;
  }
  [[nodiscard]] [[gnu::cold, gnu::noinline]] status retried(status answer) noexcept {
    add_shared(of_this_thread().retries[static_cast<std::size_t>(answer.reason())], 1);
    return answer;
  }
  [[gnu::cold, gnu::noinline]] void found_busy() noexcept { add_shared(of_this_thread().busy, 1); }

  // Called by the thread that moved the last of an operation's bytes: it posts, or is inside the device's gate.

  /// The `bytes` bytes of an operation of kind `opcode` were moved by path `taken`.
  void went(path taken, operation opcode, std::uint64_t bytes) noexcept {
    const std::size_t index = path_index_of(taken, opcode);
    const std::uint32_t slot = shared_ ? detail::cached_thread_slot : 0;
    if (slot < lanes_.size()) {
      add(lanes_[slot].paths[index].operations, 1);
      add(lanes_[slot].paths[index].bytes, bytes);
    } else {
      add_shared(others_.paths[index].operations, 1);
      add_shared(others_.paths[index].bytes, bytes);
    }
  }

  // Inside the device's gate.

  void quiet() noexcept { add(poller_.quiet, 1); }
  void moved(unsigned messages) noexcept { moved(messages, next_move()); }
  /// The caller knows that this is call `number` that moves something.
  void moved(unsigned messages, std::uint64_t number) noexcept {
    poller_.moved.store(number, std::memory_order_relaxed);  // [own] inside the gate
    add(poller_.arrived, messages);
  }
  /// The number of the next call that moves something.
  [[nodiscard]] std::uint64_t next_move() const noexcept {
    return poller_.moved.load(std::memory_order_relaxed) + 1;  // [own] inside the gate
  }
  void took(std::uint64_t bytes) noexcept { add(poller_.arrived_bytes, bytes); }
  void refused() noexcept { add(poller_.refused, 1); }
  void ambiguous() noexcept { add(poller_.ambiguous, 1); }

  // The backlog, by any thread.

  void put_off() noexcept;
  void worked_off() noexcept { backlog_.fetch_sub(1, std::memory_order_relaxed); }  // [stat]

  [[nodiscard]] device_counters read() const noexcept;
  /// Calls of progress so far: a change shows that a thread polls the device. **Threads**: any.
  [[nodiscard]] std::uint64_t calls() const noexcept {
    return poller_.moved.load(std::memory_order_relaxed) + poller_.quiet.load(std::memory_order_relaxed);  // [hint]
  }

 private:
  using word = std::atomic<std::uint64_t>;

  struct kind {
    word operations{0};
    word bytes{0};
  };
  static constexpr std::size_t first_kind = static_cast<std::size_t>(operation::active_message);
  static constexpr std::size_t kind_count = static_cast<std::size_t>(operation::atomic) - first_kind + 1;
  static constexpr std::size_t index_of(operation opcode) noexcept {
    return static_cast<std::size_t>(opcode) - first_kind;
  }

  // The paths of messages, then the paths of puts and gets.
  static constexpr std::size_t path_count = static_cast<std::size_t>(path::copied_by_both) + 1;
  static constexpr std::size_t path_index_of(path taken, operation opcode) noexcept {
    const bool is_transfer = opcode == operation::put || opcode == operation::get || opcode == operation::put_signal ||
                             opcode == operation::get_signal;
    return static_cast<std::size_t>(taken) + (is_transfer ? path_count : 0);
  }

  struct alignas(detail::cache_line_bytes) lane {
    std::array<kind, kind_count> kinds;
    std::array<word, shortages> retries{};
    word busy{0};
    std::array<kind, 2 * path_count> paths;
  };

  static void posted_in(lane& mine, operation opcode, std::uint64_t bytes) noexcept {
    kind& counted = mine.kinds[index_of(opcode)];
    add(counted.operations, 1);
    add(counted.bytes, bytes);
  }
  // One writer.
  static void add(word& to, std::uint64_t more) noexcept {
    to.store(to.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);  // [stat]
  }
  static void add_shared(word& to, std::uint64_t more) noexcept {
    to.fetch_add(more, std::memory_order_relaxed);  // [stat]
  }
  [[gnu::cold, gnu::noinline]] void posted_by_others(operation opcode, std::uint64_t bytes) noexcept {
    if (detail::this_thread_slot() < lanes_.size()) return posted(opcode, bytes);
    add_shared(others_.kinds[index_of(opcode)].operations, 1);
    add_shared(others_.kinds[index_of(opcode)].bytes, bytes);
  }
  // Counts rare events: added to as if other threads wrote there, too.
  [[nodiscard]] lane& of_this_thread() noexcept {
    const std::uint32_t slot = shared_ ? detail::cached_thread_slot : 0;
    return slot < lanes_.size() ? lanes_[slot] : others_;
  }

  bool shared_;  // a device of one thread's own has one lane
  std::array<lane, 8> lanes_{};
  lane others_{};

  struct alignas(detail::cache_line_bytes) {
    word quiet{0};
    word moved{0};
    word arrived{0};
    word arrived_bytes{0};
    word refused{0};
    word ambiguous{0};
  } poller_;

  alignas(detail::cache_line_bytes) word backlog_{0};
  word backlog_max_{0};
};

/// A line for people: the counts that are not zero.
[[nodiscard]] std::string to_text(const device_counters& counted);

}  // namespace weft::core
