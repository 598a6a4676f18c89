// SPDX-License-Identifier: BSD-3-Clause
// Sends that could not be posted: MPI_Isend returns also where its peer makes no progress for long. A queue for each
// peer keeps their order; a hook of the device posts them when there is room.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "mpi/objects/request.hpp"
#include "weft/device.hpp"
#include "weft/hook.hpp"

namespace weft::mpi {

class pending_sends {
 public:
  pending_sends(weft::device& device, request_signals& signals) noexcept : device_{device}, signals_{signals} {}

  /// Whether there is none, for any peer. A thread that has added one sees it.
  [[nodiscard]] bool is_empty() const noexcept {
    // [pending.empty] acquire <- [pending.posted]: a thread whose own send a hook has posted takes the number behind
    // it. Those of other threads have no order with it.
    return count_.load(std::memory_order_acquire) == 0;
  }
  /// Adds a send, whose `send` says where to, if `always` or if older ones to its peer wait here. Returns whether it
  /// was added. **Errors**: `std::bad_alloc`.
  bool add(request& req, bool always);

 private:
  struct queue {
    request* first = nullptr;
    request* last = nullptr;
  };
  [[nodiscard]] hook_answer post_all() noexcept;
  [[nodiscard]] bool post_first(queue& sends) noexcept;

  weft::device& device_;
  request_signals& signals_;
  std::atomic<std::uint64_t> count_{0};
  std::mutex mutex_;  // guards the queues and `has_hook_`
  std::unordered_map<std::uint32_t, queue> queues_;
  bool has_hook_ = false;
  std::mutex hook_mutex_;  // guards `hook_`; the function of the hook does not take it
  hook hook_;              // its end waits for a call that still runs
};

}  // namespace weft::mpi
