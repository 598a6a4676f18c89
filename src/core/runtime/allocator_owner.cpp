// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/allocator_owner.hpp"

#include <new>

#include "base/callback_scope.hpp"
#include "base/memory_limit.hpp"
#include "core/message/payload.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

void* allocator_owner::allocate(std::uint64_t bytes, std::uint32_t source, std::uint64_t tag) noexcept {
  // libstdc++ rounds the size up to the alignment: 2^64 - 1 becomes 0, and it returns a block of 24 bytes. Allocators
  // that users write on top of malloc may do the same.
  if (bytes > buffer_bytes_max) return nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  const base::callback_scope allocator_runs;
  void* const out = allocator_ != nullptr
                        ? allocator_->allocate(size, source, tag)
                        : ::operator new (size, std::align_val_t{detail::cache_line_bytes}, std::nothrow);
  // [owner.give] relaxed: memory is given back after it was given, so [owner.back] comes after this.
  if (out != nullptr) given_.fetch_add(1, std::memory_order_relaxed);
  return out;
}

bool allocator_owner::is_beyond_all(std::uint64_t bytes) const noexcept {
  constexpr std::uint64_t asked_from = std::uint64_t{64} << 20;  // so that not each message asks the system
  return bytes >= asked_from && allocator_ == nullptr && bytes > base::memory_limit();
}

void allocator_owner::release(void* data, std::size_t bytes) noexcept {
  if (allocator_ != nullptr) {
    const base::callback_scope allocator_runs;
    allocator_->deallocate(data, bytes);
  } else {
    ::operator delete (data, std::align_val_t{detail::cache_line_bytes});
  }
  // [owner.back] release -> [owner.all_back]: the last access; a thread that sees it may destroy the owner.
  given_.fetch_sub(1, std::memory_order_release);
}

}  // namespace weft::core
