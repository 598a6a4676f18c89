// SPDX-License-Identifier: BSD-3-Clause
// Messages that a runtime has received and not delivered.
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/runtime.hpp"

namespace weft::core {

/// **Threads**: any.
class message_counts {
 public:
  void add_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }  // [stat]
  void add_dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }  // [stat]
  void add_to(runtime_counters& out) const noexcept {
    out.messages_dropped += dropped_.load(std::memory_order_relaxed);  // [stat]
    out.messages_refused += refused_.load(std::memory_order_relaxed);  // [stat]
  }

 private:
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace weft::core
