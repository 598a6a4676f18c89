// SPDX-License-Identifier: BSD-3-Clause
// Free requests of a thread. Each thread acquires and releases requests in a cache of its own, in which no other thread
// looks; a request that another thread completes goes to the cache of that thread. Caches exchange requests in batches.
//
// Cost of a request that the cache has: some 10 instructions to acquire and release it, on lines of the thread's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "mpi/objects/request.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::mpi {

/// So many requests move between threads at a time.
inline constexpr std::uint32_t batch_requests = 64;

/// **Threads**: one at a time.
struct alignas(weft::detail::cache_line_bytes) request_cache {
  /// A free request, or null.
  [[nodiscard]] request* try_get() noexcept {
    request* const out = free;
    if (out == nullptr) [[unlikely]]
      return nullptr;
    free = out->next;
    ++room;
    return out;
  }
  /// False: `free` has a whole batch, or this is no thread's own cache.
  [[nodiscard]] bool try_put(request& unused) noexcept {
    std::uint32_t left = 0;
    if (__builtin_sub_overflow(room, 1U, &left)) [[unlikely]]
      return false;
    room = left;
    unused.next = std::exchange(free, &unused);
    return true;
  }

  request* free = nullptr;   // linked by `next`
  request* batch = nullptr;  // linked likewise: a whole batch more, or null
  std::uint32_t room = 0;    // how many requests more `free` takes
};

/// A cache for each slot of a thread, and for the two values that stand for no slot: these stay as they are made.
inline constexpr std::size_t request_caches = weft::detail::thread_slot_values;

namespace detail {

inline constexpr std::size_t no_request_cache = weft::detail::no_thread_slot * sizeof(request_cache);
inline constexpr std::size_t unknown_request_cache = weft::detail::unknown_thread_slot * sizeof(request_cache);

/// Variable of the thread: the distance of its cache from the first one of a rank, in bytes. This library has no access
/// to the variable of Weft's headers that has the slot.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local std::size_t request_cache_offset;

/// The same for a thread that may not have asked before. `no_request_cache`: it has no slot.
[[nodiscard]] std::size_t find_request_cache() noexcept;

}  // namespace detail
}  // namespace weft::mpi
