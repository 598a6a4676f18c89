// SPDX-License-Identifier: BSD-3-Clause
// Blocks of memory in steps of 64 bytes, each of which is used again for the next need of its size.
//
// Cost: an exchange, and the line of the block; an allocation if no block of the size is idle, or if another thread
// uses the cache at that moment. At most 1 MiB is idle; further blocks go back to the system, as do blocks above 8 KiB.
#pragma once

#include <array>
#include <cstddef>
#include <new>

#include "base/try_lock.hpp"

namespace weft::core {

/// **Threads**: any; construction and destruction are alone.
class block_cache {
 public:
  static constexpr std::size_t step_bytes = 64;
  static constexpr std::size_t block_bytes_max = 8192;  // the largest block that is kept
  static constexpr std::size_t idle_bytes_max = std::size_t{1} << 20;

  block_cache() noexcept = default;
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  ~block_cache() {
    for (idle_block* each : idle_) {
      while (each != nullptr) {
        idle_block* const behind = each->behind;
        ::operator delete(each);
        each = behind;
      }
    }
  }

  /// The bytes of a block that has room for `bytes`, and for at least one.
  [[nodiscard]] static constexpr std::size_t block_bytes(std::size_t bytes) noexcept {
    return bytes == 0 ? step_bytes : bytes + (step_bytes - bytes % step_bytes) % step_bytes;
  }

  /// A block of `block_bytes(bytes)`; null if the system has no memory.
  [[nodiscard]] void* try_get(std::size_t bytes) noexcept {
    const std::size_t size = block_bytes(bytes);
    if (size <= block_bytes_max && lock_.try_enter()) {
      idle_block*& first = first_of(size);
      idle_block* const found = first;
      if (found != nullptr) {
        first = found->behind;
        idle_bytes_ -= size;
      }
      lock_.leave();
      if (found != nullptr) return found;
    }
    return ::operator new(size, std::nothrow);
  }

  /// Takes back the block that `try_get(bytes)` has given.
  void put(void* block, std::size_t bytes) noexcept {
    const std::size_t size = block_bytes(bytes);
    if (size <= block_bytes_max && lock_.try_enter()) {
      const bool is_kept = idle_bytes_ + size <= idle_bytes_max;
      if (is_kept) {
        idle_block*& first = first_of(size);
        first = new (block) idle_block{first};
        idle_bytes_ += size;
      }
      lock_.leave();
      if (is_kept) return;
    }
    ::operator delete(block);
  }

 private:
  struct idle_block {
    idle_block* behind;
  };

  [[nodiscard]] idle_block*& first_of(std::size_t size) noexcept { return idle_[size / step_bytes - 1]; }

  base::try_lock lock_;  // guards all that follows
  std::size_t idle_bytes_ = 0;
  std::array<idle_block*, block_bytes_max / step_bytes> idle_{};
};

}  // namespace weft::core
