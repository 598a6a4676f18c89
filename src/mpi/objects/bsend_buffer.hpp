// SPDX-License-Identifier: BSD-3-Clause
// The buffer of buffered sends that a program attaches to its rank or to a communicator (3.6).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "mpi.h"
#include "mpi/objects/request.hpp"

namespace weft::mpi {

/// Room of one message in a buffer.
struct buffered_room {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  std::uint64_t batch = 0;
};

/// Gives room to messages: behind the last one, or else in the first gap. Each takes MPI_BSEND_OVERHEAD bytes more than
/// its data, as MPI's model of a buffer says. **Threads**: any.
class bsend_buffer {
 public:
  [[nodiscard]] bool is_attached() const noexcept;
  /// `address` may be MPI_BUFFER_AUTOMATIC. Returns an error class.
  int attach(void* address, std::size_t bytes) noexcept;
  /// Detaches a buffer without messages. Returns its address, and its bytes.
  std::pair<void*, std::size_t> detach() noexcept;

  /// Room for a message of `bytes` bytes; none: the buffer is full. **Errors**: `std::bad_alloc`.
  [[nodiscard]] std::optional<buffered_room> try_reserve(std::size_t bytes);
  /// The message has been sent. Returns whether flushes have ended by that, or the buffer is empty: threads that wait
  /// for either are to be woken.
  [[nodiscard]] bool release(const buffered_room& room) noexcept;

  /// Whether all messages have been sent.
  [[nodiscard]] bool is_empty() const noexcept;
  /// Ends `req` once all messages that are in the buffer now have been sent. **Errors**: `std::bad_alloc`.
  void finish_when_sent(request& req);

 private:
  // The messages that came between two flushes, and the flushes behind them.
  struct batch {
    std::size_t open = 0;
    std::vector<request*> flushes{};
  };
  [[nodiscard]] std::optional<std::size_t> find_room(std::size_t bytes) const noexcept;

  mutable std::mutex mutex_;  // guards all that follows
  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
  std::map<std::size_t, std::size_t> used_;  // ends of messages, by their beginnings; not of an automatic buffer
  std::size_t behind_last_ = 0;              // the end of the newest message
  std::deque<batch> batches_;                // the last one takes new messages
  std::uint64_t first_batch_ = 0;            // the number of the first of them
};

/// The buffered sends of a rank.
struct buffered_sends {
  bsend_buffer rank_buffer;
  std::atomic<std::size_t> open{0};  // messages in any buffer
  [[nodiscard]] bool are_sent() const noexcept {
    // [buffered.open] acquire <- [buffered.end]
    return open.load(std::memory_order_acquire) == 0;
  }
};

}  // namespace weft::mpi
