// SPDX-License-Identifier: BSD-3-Clause
// The completion objects that were made from a runtime: how many there are, and their ends.
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/completion.hpp"

namespace weft::core {

class runtime_state;

/// **Threads**: any.
class completion_objects {
 public:
  explicit completion_objects(runtime& owner) noexcept : owner_{&owner} {}

  // [object.made] relaxed: the thread that destroys the runtime has seen the ends of its objects.
  void add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  /// `gone` is being destroyed, in runtime `runtime`: waits for signals that are about to end. Ends the process if the
  /// object is still registered, or an operation will signal it.
  void end(runtime_state& runtime, const completion& gone) noexcept;
  /// **Threads**: no other one uses the runtime.
  [[nodiscard]] bool are_gone() const noexcept {
    return count_.load(std::memory_order_relaxed) == 0;  // [own] the runtime is destroyed after its objects
  }

  /// **Errors**: invalid_argument for an object of another runtime.
  void check(const char* call, const completion& local) const {
    if (&local.runtime() != owner_) [[unlikely]]
      refuse(call);
  }

 private:
  [[noreturn]] static void refuse(const char* call);

  runtime* owner_;
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace weft::core
