// A completion object that is ready after a given number of signals, and keeps their records.
//
// Cost: a signal is one compare-and-swap, one fetch-and-add, and one cache line for the record.
#pragma once

#include <memory>
#include <optional>

#include "weft/completion.hpp"

namespace weft {

/// How many signals it takes.
struct synchronizer_options {
  /// Signals until it is ready; at least 1.
  std::uint32_t expected = 1;
};

/// Like an MPI request that several operations may share. A signal beyond `expected` is answered *full* and waits for
/// `reset()`. **Source**: yan2025-lci, 5.1.4.
class synchronizer final : public completion {
 public:
  /// **Blocking**: never; allocates. **Errors**: `invalid_argument` where it is to expect none.
  explicit synchronizer(weft::runtime& owner, const synchronizer_options& options = {});
  ~synchronizer() override;

  /// True once all expected signals have come; stays so until `reset()`. **Blocking**: never; makes no progress.
  /// **Threads**: any. **Source**: zhou2024, 3.4.
  [[nodiscard]] bool is_ready() const noexcept {
    // [synchronizer.ready] acquire <- [synchronizer.arrive]: all records and what completed before them.
    return arrived_.load(std::memory_order_acquire) == expected_;
  }

  /// How many signals it takes.
  [[nodiscard]] std::uint32_t expected() const noexcept { return expected_; }

  /// The record of signal `index` (below `expected()`, in the order of arrival), once; nothing if already taken.
  ///
  /// **Blocking**: never. **Threads**: one thread at a time, after `is_ready()`. **Errors**: `invalid_state` before,
  /// `invalid_argument` for an index out of range.
  [[nodiscard]] std::optional<completion_record> take(std::uint32_t index = 0);

  /// Makes it ready for the next `expected()` signals; records not taken are given back.
  ///
  /// **Blocking**: never. **Threads**: one thread, after `is_ready()`. **Errors**: `invalid_state` before.
  void reset();

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

 private:
  std::uint32_t expected_;
  std::unique_ptr<std::optional<completion_record>[]> records_;
  std::atomic<std::uint32_t> claimed_{0};
  std::atomic<std::uint32_t> arrived_{0};
};

}  // namespace weft
