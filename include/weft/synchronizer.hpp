// SPDX-License-Identifier: BSD-3-Clause
// A completion object that is ready after a given number of signals, and keeps their records.
//
// Cost: a signal is one compare-and-swap, one fetch-and-add, and one cache line for the record.
#pragma once

#include <memory>
#include <optional>

#include "weft/completion.hpp"

namespace weft {

/// Options of `synchronizer`.
struct synchronizer_options {
  /// Signals until it is ready; at least 1.
  std::uint32_t expected = 1;
};

/// Like an MPI request, but for `expected` operations. It answers a signal beyond `expected` with *full*; that signal
/// is given after `reset()`.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none. **Source**:
/// yan2025-lci, 5.1.4.
class synchronizer final : public completion {
 public:
  /// Not ready. **Blocking**: never; allocates. **Errors**: `invalid_argument` for `.expected = 0`; `std::bad_alloc`.
  explicit synchronizer(weft::runtime& owner, const synchronizer_options& options = {});
  template <class WriteRuntimeAndMembersInOrderOf = synchronizer_options>
  explicit synchronizer(...) = delete;  // write a runtime, and members of synchronizer_options in their order
  ~synchronizer() override;

  /// True once all expected signals have come, until `reset()`. **Blocking**: never; makes no progress. **Source**:
  /// zhou2024, 3.4.
  [[nodiscard]] bool is_ready() const noexcept {
    // [synchronizer.ready] acquire <- [synchronizer.arrive]: all records and what completed before them.
    return arrived_.load(std::memory_order_acquire) == expected_;
  }

  /// The number of signals that make it ready.
  [[nodiscard]] std::uint32_t expected() const noexcept { return expected_; }

  /// Takes the record of signal `index` (below `expected()`, in the order of arrival); nothing if it was taken before.
  ///
  /// **Threads**: one thread at a time, once it is ready. **Errors**: `invalid_state` if it is not ready;
  /// `invalid_argument` for an index out of range.
  [[nodiscard]] std::optional<completion_record> take(std::uint32_t index = 0);

  /// Waits for the next `expected()` signals from now on: it is not ready, and destroys records that were not taken.
  ///
  /// **Blocking**: never. **Threads**: one thread at a time, once it is ready. **Errors**: `invalid_state` if it is not
  /// ready.
  void reset();

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

 private:
  std::uint32_t expected_;
  std::unique_ptr<std::optional<completion_record>[]> records_;
  std::atomic<std::uint32_t> claimed_{0};
  std::atomic<std::uint32_t> arrived_{0};
};

}  // namespace weft
