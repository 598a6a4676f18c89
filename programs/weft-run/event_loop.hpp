// SPDX-License-Identifier: BSD-3-Clause
// Waits until one of many descriptors is ready.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft-run/descriptor.hpp"

namespace weft::run {

/// What a descriptor belongs to.
enum class event_source : std::uint32_t { control, signals, sink, stream, pmi };

struct ready_source {
  event_source source;
  std::uint32_t index;
};

class event_loop {
 public:
  /// **Errors** weft::error.
  event_loop();

  /// Waits for these events (EPOLLIN, EPOLLOUT) of a descriptor, too. A sink that is a regular file can't be watched:
  /// it is always ready. **Errors** weft::error.
  void watch(int fd, std::uint32_t events, ready_source origin);
  void unwatch(int fd) noexcept;
  /// **Blocking**: until a descriptor is ready, or so many milliseconds; -1: no bound. **Returns** the sources of
  /// ready ones, at most 64; valid until the next call. **Errors** weft::error.
  [[nodiscard]] std::span<const ready_source> wait(int milliseconds);

 private:
  descriptor epoll_;
  std::vector<ready_source> ready_;
};

}  // namespace weft::run
