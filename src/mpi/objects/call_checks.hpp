// SPDX-License-Identifier: BSD-3-Clause
// Calls of MPI under way at a rank whose calls are checked (WEFT_CHECK=1): which threads may call, and which requests
// calls complete. It finds threads that call MPI though the thread level forbids it, two calls under way that
// complete one request, and two threads in one stream.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "mpi.h"

namespace weft::mpi {

struct request;
struct stream;

/// **Threads**: any. Cost: a lock for each call that the thread level restricts, and with MPI_THREAD_MULTIPLE for each
/// that starts or completes requests. Errors have their reason noted (`fail`).
class call_checks {
 public:
  /// The calling thread is the main one.
  explicit call_checks(int thread_level) noexcept : thread_level_{thread_level} {}

  /// Whether the calling thread may call MPI now. Returns an error class.
  [[nodiscard]] int check_thread() noexcept;
  /// Checks the thread, which is inside of `function`, of static storage, until `leave`.
  [[nodiscard]] int enter(const char* function) noexcept;
  void leave() noexcept;

  /// A call of `function` that completes these requests begins. Returns an error class; `call` is its number then, for
  /// `end_completing`, and is 0 if there is nothing to end. **Errors**: `std::bad_alloc`.
  [[nodiscard]] int begin_completing(const char* function, std::vector<const request*> requests, std::uint64_t& call);
  void end_completing(std::uint64_t call) noexcept;
  /// A call has started this request, so no call that is under way completes it: one that has completed an older
  /// request in the same memory may not have returned yet.
  void note_started(const request* started) noexcept;

  /// The calling thread is inside of `function` in this stream, until `leave_stream`, perhaps several times. Returns an
  /// error class. **Errors**: `std::bad_alloc`.
  [[nodiscard]] int enter_stream(const stream& own, const char* function);
  void leave_stream(const stream& own) noexcept;

  /// The calls of the calling thread are over, though they have not ended: an error handler is called, which may leave
  /// them.
  void end_calls_of_thread() noexcept;
  /// Whether requests are compared: below MPI_THREAD_MULTIPLE a second thread is found earlier.
  [[nodiscard]] bool compares_requests() const noexcept { return thread_level_ == MPI_THREAD_MULTIPLE; }

 private:
  struct completing_call {
    const char* function;
    std::thread::id thread;
    std::vector<const request*> requests;  // sorted by address
  };

  struct stream_call {
    const char* function;
    std::thread::id thread;
    unsigned depth;
  };

  [[nodiscard]] int refuse_thread() const noexcept;

  const int thread_level_;
  const std::thread::id main_thread_ = std::this_thread::get_id();
  std::mutex mutex_;
  // The following are guarded by `mutex_`. With MPI_THREAD_SERIALIZED: the thread that is inside of a function.
  std::thread::id inside_{};
  const char* inside_function_ = nullptr;
  unsigned depth_ = 0;  // so many of its calls: functions of the program, which MPI calls, may call MPI
  std::uint64_t last_call_ = 0;
  std::map<std::uint64_t, completing_call> completing_;
  std::map<const stream*, stream_call> streams_;  // that a thread is in
};

}  // namespace weft::mpi
