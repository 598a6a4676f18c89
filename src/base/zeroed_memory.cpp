// SPDX-License-Identifier: BSD-3-Clause
#include "weft/detail/zeroed_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace weft::detail {
namespace {

constexpr std::size_t alignment_bytes = 64;

// The kernel's zero pages come lazily from here on; below it the allocator's memory is cleared by hand.
constexpr std::size_t mapped_bytes_min = released_piece_bytes;

}  // namespace

void* allocate_zeroed(std::size_t bytes) noexcept {
  if (bytes == 0 || bytes > std::size_t{1} << 47) return nullptr;
  if (bytes >= mapped_bytes_min) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  const std::size_t whole = (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  void* memory = std::aligned_alloc(alignment_bytes, whole);
  if (memory != nullptr) std::memset(memory, 0, whole);
  return memory;
}

void release_zeroed(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  if (bytes >= mapped_bytes_min) {
    ::munmap(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace weft::detail
