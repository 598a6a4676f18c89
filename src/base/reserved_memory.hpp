// SPDX-License-Identifier: BSD-3-Clause
// Memory that grows where it lies: address space is reserved for all of it, and its first part is memory.
#pragma once

#include <cstddef>

namespace weft::base {

class reserved_memory {
 public:
  /// The first `bytes` are memory. Reserves `bytes_max`, or less if the process may not have so much address space.
  /// Both are rounded up to whole pages. Throws std::bad_alloc.
  reserved_memory(std::size_t bytes, std::size_t bytes_max);
  reserved_memory(const reserved_memory&) = delete;
  reserved_memory& operator=(const reserved_memory&) = delete;
  ~reserved_memory();

  [[nodiscard]] void* begin() const noexcept { return begin_; }

  /// Makes the first `bytes` memory; the new part is zero, and a page of it takes memory once it is touched. False:
  /// there is no more address space, or no memory; nothing has changed. Cost: a system call.
  /// **Threads**: one at a time. The others may use the new part as soon as they learn of it.
  [[nodiscard]] bool try_grow(std::size_t bytes) noexcept;

 private:
  void* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t reserved_ = 0;
};

}  // namespace weft::base
