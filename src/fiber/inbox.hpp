// SPDX-License-Identifier: BSD-3-Clause
// Fibers that wait for a worker: fibers that move to it from another one, and fibers that no worker has started yet.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace weft::fibers {

struct fiber_state;

/// The first that was put in is the first that is taken out. **Threads**: any. **Blocking**: briefly.
class inbox {
 public:
  inbox() = default;
  /// Empty.
  ~inbox();
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  void put(fiber_state& last) noexcept;
  /// Null: there is none.
  [[nodiscard]] fiber_state* take() noexcept;
  [[nodiscard]] bool is_empty() const noexcept {
    // [inbox.look] seq_cst <- [inbox.put]: a thread that puts after this sees the seq_cst stores that come before.
    return count_.load(std::memory_order_seq_cst) == 0;
  }

 private:
  std::atomic<std::uint64_t> count_{0};
  std::mutex mutex_;
  fiber_state* first_ = nullptr;
  fiber_state* last_ = nullptr;
};

}  // namespace weft::fibers
