// SPDX-License-Identifier: BSD-3-Clause
// Where requests are when no operation uses them, and requests that were freed before their operation was complete.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "mpi/objects/request.hpp"

namespace weft {
class device;
}

namespace weft::mpi {

/// Requests that are not in use. Memory is taken in blocks, and kept.
///
/// A request that the program frees while it is active is released later: a later free looks for requests that are
/// done by then, at a constant cost for each free on average.
class request_pool {
 public:
  explicit request_pool(bool is_shared) noexcept : is_shared_{is_shared} { sent_.finish(outcome{}); }
  ~request_pool();
  request_pool(const request_pool&) = delete;
  request_pool& operator=(const request_pool&) = delete;

  /// A fresh request, active and not done, which is a reference to its owner. Without one the error handler of
  /// MPI_COMM_SELF is called. **Errors**: `std::bad_alloc`.
  [[nodiscard]] request& acquire(error_owner* owner, request_operation operation);
  /// Whether several threads use it at a time: then `try_acquire` may not be called.
  [[nodiscard]] bool is_shared() const noexcept { return is_shared_; }
  /// Acquires a request in a fast path, without the reference to the communicator. Null: it takes memory.
  [[nodiscard]] request* try_acquire(communicator& comm, request_operation operation) noexcept {
    request* const out = free_;
    if (out == nullptr) [[unlikely]]
      return nullptr;
    free_ = out->next;
    out->kind = object_kind::request;
    out->operation = operation;
    out->is_persistent = false;
    out->activate();
    out->owner = &comm;
    out->next = nullptr;
    return out;
  }
  /// Releases a request of `try_acquire` without its reference to the communicator.
  void release_unreferenced(request& unused) noexcept {
    unused.kind = object_kind::freed;
    unused.next = std::exchange(free_, &unused);
  }
  /// The request of all sends that were complete when they had been posted. It stays as it is.
  [[nodiscard]] request& sent() noexcept { return sent_; }

  /// A persistent one, which is inactive; `owned` starts it. **Errors**: `std::bad_alloc`.
  [[nodiscard]] request& acquire_persistent(error_owner* owner, request_operation operation,
                                            std::unique_ptr<request_part> owned);
  /// Releases a request that is done or was never started, and ends what it owns.
  void release(request& req) noexcept;
  /// MPI_Request_free of a request that may be active: releases it once its operation is complete. **Errors**:
  /// `std::bad_alloc`; nothing has happened then.
  void release_when_done(request& req);
  /// Releases the requests of `release_when_done` that are done. Returns how many others there are, but for those
  /// that the program has to complete.
  std::size_t release_done() noexcept;

  // The functions below are called when a rank ends, and the program calls nothing else:

  /// Calls `visit(request)` for each that is under way, and frees it. **Errors**: `std::bad_alloc`; those of `visit`.
  template <class Visit>
  void free_open(const Visit& visit) {
    for (const auto& block : blocks_) {
      for (request& req : std::span{block.get(), block_requests}) {
        if (req.kind != object_kind::request || req.is_done()) continue;
        visit(req);
        release_when_done(req);
      }
    }
  }
  /// Cancels the receives of `release_when_done` that no message has matched.
  void cancel_receives(weft::device& device) noexcept;
  /// Abandons the persistent collectives of `release_when_done` that are not done.
  void abandon_persistent() noexcept;

 private:
  static constexpr std::size_t block_requests = 64;

  void grow();
  [[nodiscard]] request* unlink_done() noexcept;
  [[nodiscard]] std::unique_lock<std::mutex> lock();

  const bool is_shared_;  // several threads use it at a time
  std::mutex mutex_;      // guards all that follows
  request* free_ = nullptr;
  request sent_;
  std::vector<request*> freed_;  // the program freed them before they were done
  std::size_t look_at_ = 64;     // so many freed ones: a free looks for done ones
  std::vector<std::unique_ptr<request[]>> blocks_;
};

}  // namespace weft::mpi
