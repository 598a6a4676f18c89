// SPDX-License-Identifier: BSD-3-Clause
// A completion object that counts its signals.
//
// Cost: a signal is one fetch-and-add.
#pragma once

#include "weft/completion.hpp"

namespace weft {

/// Counts completions, and gives payloads of messages back unread.
///
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none. **Source**: yan2025-lci, 5.1.4.
class counter final : public completion {
 public:
  /// Begins at zero.
  explicit counter(weft::runtime& owner) noexcept : completion{owner} { count_ = &value_; }
  template <class WriteReference = weft::runtime>
  explicit counter(...) = delete;  // write a runtime
  ~counter() override { end_signals(); }

  /// Signals so far, also of failed operations. A thread that sees a signal counted may read all that was written
  /// before the signal.
  ///
  /// **Blocking**: never; makes no progress. **Source**: zhou2024, 3.4.
  [[nodiscard]] std::uint64_t value() const noexcept {
    // [counter.value] acquire <- [counter.signal], [receive.count]: a thread that sees the count sees what completed
    // before.
    return value_.load(std::memory_order_acquire);
  }

  /// Signals so far that carried an error.
  [[nodiscard]] std::uint64_t failed() const noexcept {
    // [counter.failed] relaxed: a thread that has seen a signal's count by [counter.value] sees its failure.
    return failed_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

 private:
  std::atomic<std::uint64_t> value_{0};
  std::atomic<std::uint64_t> failed_{0};
};

}  // namespace weft
