// A description of what the calling fiber is about to wait for, for the report of a job in which nothing moves any
// more.
#pragma once

#include <cstdint>

namespace weft::base {

struct wait_note {
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  const char* call = nullptr;  // of static storage
  std::uint32_t peer = nobody;
  std::uint64_t tag = 0;
  bool is_poll = false;  // it will look again and again instead
};

/// Left for the suspender that is called next.
[[nodiscard]] inline wait_note& this_wait() noexcept {
  static thread_local constinit wait_note note;  // of the thread: the suspender takes it before it switches
  return note;
}

}  // namespace weft::base
