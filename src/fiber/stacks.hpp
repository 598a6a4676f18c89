// SPDX-License-Identifier: BSD-3-Clause
// The stacks of a worker's fibers, one for each slot, mapped when a slot is first used.
//
// Cost: a system call for 256 stacks, two more for each that is guarded. Tops lie at different lines and on different
// pages, modulo what caches are indexed by: a thousand fibers that all have their heads at one index would push each
// other out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::fibers {

/// **Threads**: one at a time.
class stacks {
 public:
  struct stack {
    std::byte* bottom = nullptr;
    std::byte* top = nullptr;
  };

  /// The first `guarded` have a page below their bottom: a fiber that touches it ends the process with SIGSEGV. All
  /// stacks of the process together have at most so many guard pages that they take a quarter of the mappings that the
  /// kernel allows: each thread and each large allocation needs a mapping, too.
  stacks(std::size_t bytes, std::uint32_t guarded);
  ~stacks();
  stacks(const stacks&) = delete;
  stacks& operator=(const stacks&) = delete;

  /// The stack of a slot, once. **Returns**: none where there is no memory.
  [[nodiscard]] stack make(std::uint32_t slot) noexcept;
  /// How many have a guard page.
  [[nodiscard]] std::uint32_t guards() const noexcept { return guards_; }

  /// Gives the pages of an unused stack back to the system, but for the one that its top is in.
  void release_pages(const stack& unused) const noexcept;

 private:
  static constexpr std::uint32_t slab_stacks = 256;

  std::size_t page_;
  std::size_t bytes_;   // size of a stack, whole pages
  std::size_t stride_;  // distance from one to the next
  std::uint32_t guarded_;
  std::uint32_t guards_ = 0;
  std::vector<std::byte*> slabs_;
};

}  // namespace weft::fibers
