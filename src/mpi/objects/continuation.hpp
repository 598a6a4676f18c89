// SPDX-License-Identifier: BSD-3-Clause
// Continuations (yan2025-mpi-extensions, 2.3): functions of the program that run once the requests to which they are
// attached are complete; and the continuation requests in which they are registered.
//
// Cost: one exchange and one step down where a request ends, one push onto the list of a device where the last one
// does. Progress looks at lists of continuations that may run, never at pending ones. A continuation without a
// continuation request shares no word with other threads, but for its requests and the list.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpi.h"
#include "mpi/objects/continuation_lists.hpp"
#include "mpi/objects/request.hpp"
#include "mpix.h"
#include "weft/hook.hpp"

namespace weft {
class device;
}

namespace weft::mpi {

struct rank_state;
class continuation_queue;
struct registrar;

/// The arrays of the program for a continuation's requests.
struct continued_arrays {
  MPI_Request* handles = nullptr;  // null: never touched once the call that attaches has returned
  MPI_Status* statuses = nullptr;  // null: ignored
};

struct continuation {
  continuation* next = nullptr;  // links it in a list
  basic_open_requests<> open;
  std::uint32_t count = 1;
  request* only = nullptr;                    // the only request; null: none
  std::unique_ptr<request* []> several {};    // the requests, where there is another number of them
  void (*run)(continuation& self) = nullptr;  // runs and releases it
  rank_state* rank = nullptr;                 // the rank of the thread that has attached it
  registrar* home = nullptr;                  // null: it is registered nowhere
  continuation_queue* queue = nullptr;        // the list for it once it may run, on this device:
  weft::device* device = nullptr;             // that of the last request to end
  MPIX_Continue_cb_function* callback = nullptr;
  void* data = nullptr;
  continued_arrays arrays{};
  int flags = 0;
  bool is_of_first_vci = false;  // has a generalized request, whose hook ends there

  [[nodiscard]] request*& at(std::uint32_t index) noexcept { return several == nullptr ? only : several[index]; }
};

/// Continuations of a device that may run. A hook of the device runs them; it ends when there have been none for long,
/// so that threads that wait may sleep. **Threads**: any.
class continuation_queue {
 public:
  /// Any thread may run it from now on. Adds the hook, if there is none; without memory for that the job ends.
  void push(continuation& ready) noexcept;
  /// Runs all that are in it. Returns whether there were any. **Threads**: in no gate of a device, or in that of this
  /// one's.
  bool run_ready() noexcept;
  [[nodiscard]] bool has_ready() const noexcept { return ready_.has_nodes(); }

  /// Lets the hook of `dev` look for the end of a request whose continuation that end may overlook. **Errors**:
  /// `std::bad_alloc`.
  void look_for_end(weft::device& dev, request& req, continuation& attached);

  /// The end of the rank: the hooks end in one of the next calls of progress.
  void end() noexcept { is_ending_.store(true, std::memory_order_relaxed); }  // [own] as those calls are this thread's
  [[nodiscard]] bool has_ended() const noexcept {
    // [continuation_queue.ended] acquire <- [continuation_queue.looked]: the last use of the hook that looked.
    return ready_.is_closed() && looking_.load(std::memory_order_acquire) == 0;
  }
  /// Takes all that are in it: the rank ends, and runs them no more.
  [[nodiscard]] continuation* take_ready() noexcept { return ready_.has_nodes() ? ready_.take_all(true) : nullptr; }

 private:
  hook_answer run() noexcept;

  basic_gated_list<continuation> ready_;  // open: there is a hook
  unsigned quiet_calls_ = 0;              // inside the device's gate: calls of the hook that follow each other
  std::atomic<bool> is_ending_{false};
  std::atomic<std::uint32_t> looking_{0};  // hooks of `look_for_end`
};

/// The part of a continuation request in which continuations are registered. **Threads**: any, but for functions that
/// say otherwise.
struct registrar {
  /// Registers one before it is attached. `counts`: the continuation request is complete only after it.
  void begin(bool counts) noexcept { (counts ? counted : forgotten).begin(thread_number()); }
  /// It has run, or never will.
  void end(bool counts) noexcept { (counts ? counted : forgotten).end(thread_number()); }
  /// Keeps one that may run until the continuation request is started, or tested. False: it may run now.
  [[nodiscard]] bool try_keep(continuation& ready) noexcept {
    if (!is_poll_only) return held.push_unless_open(ready);
    polled.push(ready);
    return true;
  }
  /// Notes the first error of a continuation.
  void note_error(int code) noexcept {
    int none = MPI_SUCCESS;
    // relaxed: a number; `end` of the continuation publishes it.
    error.compare_exchange_strong(none, code, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  [[nodiscard]] static std::size_t thread_number() noexcept;

  basic_registrations<16> counted, forgotten;
  basic_gated_list<continuation> held;    // open: the continuation request is started; not of one that is polled
  basic_gated_list<continuation> polled;  // only tests and waits of the continuation request run these
  std::atomic<int> error{MPI_SUCCESS};
  bool is_poll_only = false;
};

/// The end of a request to which it is attached, or of the look for that end. **Threads**: the one that has taken it
/// out of the request's slot; locks of the library may be held. `req` may be gone afterwards.
void end_request(continuation& attached, const request& req) noexcept;
/// Its last request has ended: it waits where it belongs.
void make_ready(continuation& ready) noexcept;

/// Tells the library, as long as it lives, that a function of the program runs that may not wait.
class callback_scope {
 public:
  callback_scope() noexcept;
  ~callback_scope();
  callback_scope(const callback_scope&) = delete;
  callback_scope& operator=(const callback_scope&) = delete;
};

}  // namespace weft::mpi
