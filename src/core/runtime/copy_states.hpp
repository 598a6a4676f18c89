// SPDX-License-Identifier: BSD-3-Clause
// The copy states for cooperative copies: a page of them in this rank's shared memory, for its senders, and the pages
// of its peers.
//
// Cost: a pop and a push on a lock-free stack for each copy. If all are in use, or no memory is shared, the receiver
// copies alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/assertion.hpp"
#include "core/memory/index_stack.hpp"
#include "core/message/shared_copy.hpp"
#include "core/runtime/regions.hpp"

namespace weft::core {

class copy_states {
 public:
  static constexpr std::uint32_t count = region_table::common_bytes / sizeof(copy_state);
  static constexpr std::uint32_t none = index_stack::none;

  copy_states(const region_table& memory, std::uint32_t rank) : memory_{&memory}, rank_{rank}, free_{count} {
    if (memory.common(rank) == nullptr) return;
    for (std::uint32_t index = count; index > 0; --index) free_.push(index - 1);
  }

  /// A copy state for a new copy, opened; `none` if no copy state is free.
  [[nodiscard]] std::uint32_t try_open() noexcept {
    const std::uint32_t index = free_.pop();
    if (index != none) state_at(rank_, index)->open(++numbers_[index]);
    return index;
  }
  /// The number of the copy that `try_open` has begun.
  [[nodiscard]] std::uint32_t number(std::uint32_t index) const noexcept { return numbers_[index]; }
  void close(copy_state& mine) noexcept {
    WEFT_ASSERT_CHECKED(&mine >= state_at(rank_, 0) && &mine < state_at(rank_, 0) + count);
    free_.push(static_cast<std::uint32_t>(&mine - state_at(rank_, 0)));
  }

  /// Copy state `index` of `rank`; null if the index is invalid or that memory is not mapped here.
  [[nodiscard]] copy_state* state_at(std::uint32_t rank, std::uint32_t index) const noexcept {
    std::byte* const page = memory_->common(rank);
    return page == nullptr || index >= count ? nullptr : reinterpret_cast<copy_state*>(page) + index;
  }

 private:
  const region_table* memory_;
  std::uint32_t rank_;
  index_stack free_;
  std::array<std::uint32_t, count> numbers_{};
};

}  // namespace weft::core
