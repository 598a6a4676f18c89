// SPDX-License-Identifier: BSD-3-Clause
// Continuations that are not in use: a list for each of the first threads, which no other thread uses. One that another
// thread runs goes to the list of that thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "mpi/objects/continuation.hpp"

namespace weft::mpi {

/// It knows also whether there was ever one, or a continuation request. **Threads**: any.
class continuation_pool {
 public:
  continuation_pool() noexcept = default;
  continuation_pool(const continuation_pool&) = delete;
  continuation_pool& operator=(const continuation_pool&) = delete;
  ~continuation_pool() {
    for (cache& each : caches_) {
      while (each.first != nullptr) delete std::exchange(each.first, each.first->next);
    }
  }

  /// One as it is made. **Errors**: `std::bad_alloc`.
  [[nodiscard]] continuation& acquire() {
    cache* const mine = own_cache();
    if (mine == nullptr || mine->first == nullptr) return *std::make_unique<continuation>().release();
    --mine->count;
    continuation& out = *std::exchange(mine->first, mine->first->next);
    out.next = nullptr;
    return out;
  }
  /// The program uses continuations, or has made a continuation request.
  void note_use() noexcept {
    // [hint] One store is enough. The handle of a continuation request publishes it.
    if (!is_used()) is_used_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_used() const noexcept {
    return is_used_.load(std::memory_order_relaxed);  // [hint] see above
  }
  void release(continuation& unused) noexcept {
    constexpr std::uint32_t count_max = 256;
    cache* const mine = own_cache();
    if (mine == nullptr || mine->count == count_max) {
      delete &unused;
      return;
    }
    ++mine->count;
    unused.several.reset();
    unused.next = std::exchange(mine->first, &unused);
  }

 private:
  struct alignas(weft::detail::cache_line_bytes) cache {
    continuation* first = nullptr;
    std::uint32_t count = 0;
  };
  [[nodiscard]] cache* own_cache() noexcept {
    const std::size_t number = registrar::thread_number();
    return number < caches_.size() ? &caches_[number] : nullptr;
  }

  std::array<cache, 64> caches_{};
  std::atomic<bool> is_used_{false};
};

}  // namespace weft::mpi
