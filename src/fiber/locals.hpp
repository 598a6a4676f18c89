// SPDX-License-Identifier: BSD-3-Clause
// The fiber-local variables of a fiber or thread (weft/fiber_local.hpp).
#pragma once

#include <cstdint>
#include <vector>

namespace weft::fibers {

/// **Threads**: who owns it alone.
class locals {
 public:
  locals() = default;
  ~locals() { end(); }
  locals(const locals&) = delete;
  locals& operator=(const locals&) = delete;

  /// **Errors**: std::bad_alloc.
  [[nodiscard]] void*& value(std::uint64_t key, void (*at_end)(void*) noexcept);
  /// Ends all, the last one first. One that looks at another while it ends makes that anew, which is ended as well.
  void end() noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return all_.empty(); }

 private:
  struct local {
    std::uint64_t key;
    void* value;
    void (*at_end)(void*) noexcept;
  };
  std::vector<local> all_;
};

}  // namespace weft::fibers
