// SPDX-License-Identifier: BSD-3-Clause
// The atomics that every lock-free part of Weft is written on.
//
// A lock-free class takes this policy as its last template parameter, so that the model tests can run the shipped
// header, not a copy of it, under an explorer (tests/model). Cost: nothing; every member inlines to the plain access.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

namespace weft::detail {

/// Copies a few bytes in words, without a call: for inline payloads.
inline void copy_inline(void* target, const void* source, std::size_t bytes) noexcept {
  if (bytes == 8) [[likely]] {
    std::memcpy(target, source, 8);
    return;
  }
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  for (; bytes >= 8; bytes -= 8, to += 8, from += 8) std::memcpy(to, from, 8);
  if ((bytes & 4) != 0) {
    std::memcpy(to, from, 4);
    to += 4;
    from += 4;
  }
  if ((bytes & 2) != 0) {
    std::memcpy(to, from, 2);
    to += 2;
    from += 2;
  }
  if ((bytes & 1) != 0) *to = *from;
}

/// The real machine: std::atomic for synchronized words, memcpy for data that another atomic publishes.
struct std_atomics {
  template <class T>
  using atomic = std::atomic<T>;

  /// Copies private bytes into memory that another thread reads later, after it has acquired the next publication.
  static void write_nonatomic(void* shared, const void* source, std::size_t bytes) noexcept {
    std::memcpy(shared, source, bytes);
  }

  /// Copies bytes that another thread published out of shared memory.
  static void read_nonatomic(void* target, const void* shared, std::size_t bytes) noexcept {
    std::memcpy(target, shared, bytes);
  }

  /// Stores at most a cache line of payload.
  static void write_inline(void* shared, const void* source, std::size_t bytes) noexcept {
    copy_inline(shared, source, bytes);
  }
  static void read_inline(void* target, const void* shared, std::size_t bytes) noexcept {
    copy_inline(target, shared, bytes);
  }

  /// A hint to the core that this thread waits for another one.
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
};

/// The size of a cache line: hot fields that different cores write never share one.
inline constexpr std::size_t cache_line_bytes = 64;

}  // namespace weft::detail
