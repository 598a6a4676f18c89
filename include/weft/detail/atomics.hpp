// The atomics that every lock-free part of Weft is written on.
//
// A lock-free class takes this policy as its last template parameter, so that the model tests can run the shipped
// header, not a copy of it, under an explorer (tests/model). Cost: nothing; every member inlines to the plain access.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

namespace weft::detail {

/// The real machine: std::atomic for what is synchronized, memcpy for what an atomic elsewhere publishes.
struct std_atomics {
  template <class T>
  using atomic = std::atomic<T>;

  /// Copies private bytes into memory that another thread reads later, after an acquire of what is published next.
  static void write_plain(void* shared, const void* source, std::size_t bytes) noexcept {
    std::memcpy(shared, source, bytes);
  }

  /// Copies bytes that another thread published out of shared memory.
  static void read_plain(void* target, const void* shared, std::size_t bytes) noexcept {
    std::memcpy(target, shared, bytes);
  }

  /// A hint to the core that this thread waits for another one.
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
};

/// The line that a core owns or doesn't: hot fields written by different cores never share one.
inline constexpr std::size_t cache_line_bytes = 64;

}  // namespace weft::detail
