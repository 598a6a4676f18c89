// SPDX-License-Identifier: BSD-3-Clause
// Memory for the bytes of long messages to a completion object: from the user's allocator, or the library's own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weft/buffer.hpp"
#include "weft/detail/raw_record.hpp"

namespace weft::core {

/// Gives such memory back through a record.
class allocator_owner final : public detail::memory_owner {
 public:
  explicit allocator_owner(buffer_allocator* allocator) noexcept
      : memory_owner{allocator != nullptr ? allocator->memory() : nullptr}, allocator_{allocator} {}
  /// The only function that allocates memory of a size that a peer sent; null beyond `buffer_bytes_max`, for any
  /// allocator.
  [[nodiscard]] void* allocate(std::uint64_t bytes, std::uint32_t source, std::uint64_t tag) noexcept;
  void release(void* data, std::size_t bytes) noexcept override;
  /// Whether so many bytes can never be allocated. False if the user has given an allocator.
  [[nodiscard]] bool is_beyond_all(std::uint64_t bytes) const noexcept;
  /// Whether all memory that it gave has come back, and no thread is inside `release` any more.
  [[nodiscard]] bool has_all_back() const noexcept {
    // [owner.all_back] acquire <- [owner.back]: the last access of the thread that gave the memory back.
    return given_.load(std::memory_order_acquire) == 0;
  }

 private:
  buffer_allocator* allocator_;
  std::atomic<std::uint64_t> given_{0};  // pieces of memory that are not back
};

}  // namespace weft::core
