// SPDX-License-Identifier: BSD-3-Clause
// A description of what the calling fiber is about to wait for, for the report of a job in which nothing moves any
// more.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace weft {
class device;
}

namespace weft::base {

struct wait_note {
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  const char* call = nullptr;  // has static storage
  std::uint32_t peer = nobody;
  std::uint64_t tag = 0;
  bool is_poll = false;                                // it will look again and again instead
  clock::time_point since = clock::time_point::max();  // when a wait that consists of several began
  weft::device* device = nullptr;  // whose messages may end the wait, which it outlives; null: no one device

  [[nodiscard]] bool is_part() const noexcept { return since != clock::time_point::max(); }
};

/// ` with rank 1, tag 5`, or nothing.
[[nodiscard]] inline std::string to_text(const wait_note& note) {
  if (note.peer == wait_note::nobody) return {};
  return note.tag == 0 ? fmt::format(" with rank {}", note.peer)
                       : fmt::format(" with rank {}, tag {}", note.peer, note.tag);
}

/// What the calling thread waits for, where a function waits by `device::wait`.
[[nodiscard]] inline wait_note& this_thread_waits() noexcept {
  static thread_local constinit wait_note note;  // variable of the thread: no fiber is suspended meanwhile
  return note;
}

/// While one lives, the calling thread waits for this.
class thread_wait_scope {
 public:
  explicit thread_wait_scope(const wait_note& note) noexcept { this_thread_waits() = note; }
  ~thread_wait_scope() { this_thread_waits() = {}; }
  thread_wait_scope(const thread_wait_scope&) = delete;
  thread_wait_scope& operator=(const thread_wait_scope&) = delete;
};

/// Left for the suspender that is called next.
[[nodiscard]] inline wait_note& this_wait() noexcept {
  static thread_local constinit wait_note note;  // variable of the thread: the suspender takes it before it switches
  return note;
}

}  // namespace weft::base
