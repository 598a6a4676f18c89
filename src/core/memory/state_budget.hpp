// SPDX-License-Identifier: BSD-3-Clause
// The bytes that all pools of a runtime may have together (`WEFT_STATE_BYTES_MAX`), and the line of the log that says
// when they are used up.
//
// Cost: one exchange for each slab that a pool takes; nothing for a message.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/log.hpp"

namespace weft::core {

/// Why a pool has no further element.
enum class pool_end : std::uint8_t {
  none,       ///< it has one
  count,      ///< it may have no more: its count is set, or all numbers are in use
  bytes,      ///< all pools together have as many bytes as they may
  no_memory,  ///< the system has no memory
};

/// **Threads**: any.
class state_budget {
 public:
  explicit state_budget(std::uint64_t bytes_max) noexcept : bytes_max_{bytes_max} {}
  state_budget(const state_budget&) = delete;
  state_budget& operator=(const state_budget&) = delete;

  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// Bytes of slabs that pools have taken.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }  // [stat]

  /// False: they would be more than all pools may have. Then nothing has changed.
  [[nodiscard]] bool try_take(std::uint64_t bytes) noexcept {
    // [budget.bytes] relaxed: a number and nothing else.
    std::uint64_t taken = bytes_.load(std::memory_order_relaxed);
    do {
      if (bytes > bytes_max_ - taken) return false;
      // [budget.bytes] relaxed: a number and nothing else.
    } while (!bytes_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
    return true;
  }
  void put_back(std::uint64_t bytes) noexcept {
    // [budget.bytes] relaxed: a number and nothing else.
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  /// Called at the beginning of a pool: throws that there is no memory for so many bytes of its elements.
  [[noreturn]] static void throw_no_memory(std::uint64_t bytes);
  /// Logs once that there is no room for one more of `elements`, and what raises the bound; nothing where the count of
  /// the pool is set, as that is no accident.
  void log_full(const char* elements, pool_end why) noexcept;

 private:
  std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> bytes_{0};
  base::said_once logged_bound_;
  base::said_once logged_memory_;
};

}  // namespace weft::core
