// SPDX-License-Identifier: BSD-3-Clause
// Receives that could not be posted: MPI_Irecv returns also where no operation is free for it. A hook of the device
// posts them when there is room.
//
// Messages match the receives of a communicator in the order in which the program has started them. So a receive is
// kept here, too, while an older one of its communicator is, and the hook posts none before an older one that could
// take the same message.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "mpi/objects/request.hpp"
#include "weft/device.hpp"
#include "weft/hook.hpp"

namespace weft {
class matched_message;
}

namespace weft::mpi {

struct pending_receive;

/// **Threads**: any. **Blocking**: never; no function of the program runs under its locks.
class pending_receives {
 public:
  pending_receives(weft::device& device, request_signals& signals) noexcept : device_{device}, signals_{signals} {}
  pending_receives(const pending_receives&) = delete;
  pending_receives& operator=(const pending_receives&) = delete;

  /// Whether there is none. A thread that has added one sees it.
  [[nodiscard]] bool is_empty() const noexcept {
    // [pending_receives.empty] acquire <- [pending_receives.posted]: the tickets of receives that a hook has posted.
    return count_.load(std::memory_order_acquire) == 0;
  }
  /// Posts a receive that was answered *retry*, or may not be posted now; or keeps it. **Errors**: those of the post;
  /// `std::bad_alloc`.
  void post_or_keep(request& req, buffer_ref into, envelope from);
  /// Keeps the receive of a message that a probe has matched, and takes the message. **Errors**: `std::bad_alloc`.
  void keep(request& req, buffer_ref into, weft::matched_message& matched);
  /// Cancels a receive that is kept here, unless it is that of a matched message. Returns whether it has.
  bool cancel(const request& req) noexcept;
  /// Cancels all, and drops their matched messages.
  void cancel_all() noexcept;
  /// Whether a receive that is kept here could take a message that `wanted` matches, too.
  [[nodiscard]] bool could_take(const communicator& comm, envelope wanted) noexcept;

 private:
  void add(pending_receive& added);
  void unlink(pending_receive*& link) noexcept;
  void end_cancelled(pending_receive& unlinked) noexcept;
  [[nodiscard]] hook_answer post_all() noexcept;

  weft::device& device_;
  request_signals& signals_;
  std::atomic<std::uint64_t> count_{0};
  std::mutex mutex_;  // guards the list, `has_hook_` and the numbers of communicators
  pending_receive* first_ = nullptr;
  pending_receive** end_ = &first_;
  bool has_hook_ = false;
  std::mutex hook_mutex_;  // guards `hook_`; the function of the hook does not take it
  hook hook_;              // its end waits for a call that still runs
};

}  // namespace weft::mpi
