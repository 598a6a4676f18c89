// SPDX-License-Identifier: BSD-3-Clause
// The signal of a graph's end. The graph may be started again, or be destroyed, while the signal waits for room in its
// completion object. So the signal lies in memory of its own, which each start takes and which each end gives back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/intrusive_stack.hpp"
#include "core/door/door.hpp"
#include "weft/completion.hpp"

namespace weft::core {

class device_state;

/// What the signals of one graph share; it lives as long as one of them.
struct shared_by_ends {
  shared_by_ends() = default;
  shared_by_ends(const shared_by_ends&) = delete;
  shared_by_ends& operator=(const shared_by_ends&) = delete;
  ~shared_by_ends();

  base::intrusive_stack<retry_entry> free;
  std::atomic<std::uint32_t> giving{0};  // threads that are giving a signal for the first time
};

class end_signal final : public retry_entry {
 public:
  /// Signals `done`, which was promised a signal. If it is full, progress on `later` tries again. The signal may be
  /// destroyed when this returns.
  void give(completion& done, const detail::raw_record& record, device_state& later,
            std::shared_ptr<shared_by_ends> shared) noexcept;
  bool try_again() noexcept override;
  void drop() noexcept override { delete this; }

 private:
  completion* done_ = nullptr;
  detail::raw_record record_;
  device_state* later_ = nullptr;
  std::shared_ptr<shared_by_ends> shared_;
};

/// The signals of a graph that are not in use.
class end_signals {
 public:
  end_signals() = default;
  end_signals(const end_signals&) = delete;
  end_signals& operator=(const end_signals&) = delete;
  ~end_signals();

  /// Makes sure that there is one to take. **Threads**: the one that starts the graph. **Errors**: `std::bad_alloc`.
  void prepare();
  /// The one that `prepare` has found.
  [[nodiscard]] end_signal& take() noexcept { return static_cast<end_signal&>(*std::exchange(taken_, taken_->behind)); }
  [[nodiscard]] const std::shared_ptr<shared_by_ends>& shared() const noexcept { return shared_; }
  /// Whether a thread is giving a signal for the first time.
  [[nodiscard]] bool are_given_now() const noexcept {
    // [graph.given_now] acquire <- [graph.given]: the signal, or that it waits.
    return shared_->giving.load(std::memory_order_acquire) != 0;
  }

 private:
  retry_entry* taken_ = nullptr;  // taken from the free ones
  std::shared_ptr<shared_by_ends> shared_ = std::make_shared<shared_by_ends>();
};

}  // namespace weft::core
