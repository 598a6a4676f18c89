// SPDX-License-Identifier: BSD-3-Clause
// Where requests are when no operation uses them, and requests that were freed before their operation was complete.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "mpi/objects/continuation_pool.hpp"
#include "mpi/objects/number_stack.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/objects/request_cache.hpp"

namespace weft::mpi {

/// A request of a pool. Those of several threads lie side by side, so each has cache lines of its own.
struct alignas(weft::detail::cache_line_bytes) pooled_request : request {
  explicit pooled_request(std::uint32_t its_number) noexcept : number{its_number} {}

  const std::uint32_t number;            // in the pool
  std::atomic<std::uint32_t> below = 0;  // `basic_number_stack`
};

/// Requests that are not in use. Memory is taken in blocks, and kept.
///
/// Each thread has a cache (`request_cache`); a cache that is full lends a batch to the others, and one that is empty
/// takes a batch. The requests of a thread that has ended are those of the next one with its slot. Threads without a
/// slot share one cache, behind a lock.
///
/// A request that the program frees while it is active is released later: a later free looks for requests that are
/// done by then, at a constant cost for each free on average.
///
/// **Threads**: any, unless a function says otherwise. Progress: lock-free, but for threads without a slot.
class request_pool {
 public:
  request_pool() noexcept { sent_.finish(outcome{}); }
  ~request_pool();
  request_pool(const request_pool&) = delete;
  request_pool& operator=(const request_pool&) = delete;

  /// A fresh request, active and not done, which is a reference to its owner. Without one the error handler of
  /// MPI_COMM_SELF is called. **Errors**: `std::bad_alloc`.
  [[nodiscard]] request& acquire(error_owner* owner, request_operation operation);
  /// The cache of the calling thread; one that has nothing and takes nothing, where the thread has none. A function
  /// that waits asks for it again: a fiber may be in another thread then.
  [[nodiscard]] request_cache& own_cache() noexcept { return cache_at(detail::request_cache_offset); }
  /// Acquires a request in a fast path, without the reference to the communicator. Null: `acquire` has more to do.
  [[nodiscard]] static request* try_acquire(request_cache& own, communicator& comm,
                                            request_operation operation) noexcept {
    request* const out = own.try_get();
    if (out != nullptr) [[likely]]
      begin(*out, &comm, operation);
    return out;
  }
  /// Releases a request without its reference to the communicator.
  void release_unreferenced(request_cache& own, request& unused) noexcept {
    unused.kind = object_kind::freed;
    if (!own.try_put(unused)) [[unlikely]]
      lend_and_put(unused);
  }
  /// Continuations that are not in use.
  [[nodiscard]] continuation_pool& continuations() noexcept { return continuations_; }
  /// The request of all sends that were complete when they had been posted. It stays as it is.
  [[nodiscard]] request& sent() noexcept { return sent_; }

  /// A persistent one, which is inactive; `owned` starts it. **Errors**: `std::bad_alloc`.
  [[nodiscard]] request& acquire_persistent(error_owner* owner, request_operation operation,
                                            std::unique_ptr<request_part> owned);
  /// Releases a request that is done or was never started, and ends what it owns.
  void release(request& req) noexcept;
  /// MPI_Request_free of a request that may be active: releases it once its operation is complete.
  void release_when_done(request& req) noexcept;
  /// Releases the requests of `release_when_done` that are done. Returns how many others there are, but for those
  /// that the program has to complete.
  std::size_t release_done() noexcept;

  // The functions below are called when a rank ends, and the program calls nothing else:

  /// Calls `visit(request)` for each that was ever made.
  template <class Visit>
  void each_made(const Visit& visit) noexcept {
    // [own] see above.
    const std::uint32_t end = made_.load(std::memory_order_relaxed);
    for (std::uint32_t number = 0; number < end; ++number) visit(find(number));
  }

  /// Calls `visit(request)` for each that is under way, and frees it. **Errors**: those of `visit`.
  template <class Visit>
  void free_open(const Visit& visit) {
    // [own] see above.
    const std::uint32_t end = made_.load(std::memory_order_relaxed);
    for (std::uint32_t number = 0; number < end; ++number) {
      pooled_request& req = find(number);
      if (req.kind != object_kind::request || req.is_done()) continue;
      visit(req);
      release_when_done(req);
    }
  }
  /// Cancels the receives of `release_when_done` that no message has matched.
  void cancel_receives() noexcept;
  /// Abandons the persistent collectives of `release_when_done` that are not done.
  void abandon_persistent() noexcept;

 private:
  using stack = basic_number_stack<pooled_request>;
  // Block `b` has 2^b batches, so that a number leads to its block and no block ever moves.
  static constexpr std::size_t blocks = 26;

  static void begin(request& out, error_owner* owner, request_operation operation) noexcept {
    out.kind = object_kind::request;
    out.operation = operation;
    out.is_persistent = false;
    out.activate();
    out.owner = owner;
  }
  [[nodiscard]] request_cache& cache_at(std::size_t offset) noexcept {
    return *reinterpret_cast<request_cache*>(reinterpret_cast<std::byte*>(caches_.data()) + offset);
  }
  // Calls `function` with a cache that only the calling thread uses meanwhile.
  template <class Function>
  void with_cache(const Function& function);

  // What `try_get` and `try_put` of a cache leave to do.
  [[nodiscard]] request& borrow_and_get();
  void lend_and_put(request& unused) noexcept;
  // A batch of requests that were never used. **Errors**: `std::bad_alloc`.
  [[nodiscard]] request* make_batch();
  [[nodiscard]] pooled_request* block_with_memory(std::size_t block);
  [[nodiscard]] pooled_request& find(std::uint32_t number) noexcept;
  [[nodiscard]] pooled_request* unlink_done(std::size_t& open) noexcept;
  template <class Visit>
  void each_freed(const Visit& visit) noexcept;

  request sent_;
  std::array<std::atomic<pooled_request*>, blocks> blocks_{};
  stack batches_;  // the first request of each
  stack freed_;    // the program freed them before they were done
  alignas(weft::detail::cache_line_bytes) std::atomic<std::uint32_t> made_{0};  // requests that have been made
  std::atomic<std::size_t> freed_count_{0};
  std::atomic<std::size_t> look_at_{64};  // so many freed ones: a free looks for done ones
  std::mutex stray_mutex_;
  request_cache stray_;  // guarded by `stray_mutex_`: of threads without a slot
  std::array<request_cache, request_caches> caches_{};
  continuation_pool continuations_;
};

}  // namespace weft::mpi
