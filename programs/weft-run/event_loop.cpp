// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/event_loop.hpp"

#include <sys/epoll.h>

#include <array>
#include <cerrno>

#include "weft-run/launch.hpp"

namespace weft::run {

event_loop::event_loop() : epoll_{::epoll_create1(EPOLL_CLOEXEC)} {
  if (!epoll_.open()) fail_by_errno("make an epoll descriptor");
}

void event_loop::watch(int fd, std::uint32_t events, ready_source origin) {
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.u64 = static_cast<std::uint64_t>(origin.source) << 32 | origin.index;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) == 0) return;
  if (errno != EPERM || origin.source != event_source::sink) fail_by_errno("watch a descriptor");
}

void event_loop::unwatch(int fd) noexcept { (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::span<const ready_source> event_loop::wait(int milliseconds) {
  std::array<epoll_event, 64> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), milliseconds);
  if (n < 0 && errno != EINTR) fail_by_errno("wait for events");
  ready_.clear();
  for (int i = 0; i < n; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    ready_.push_back({static_cast<event_source>(tag >> 32), static_cast<std::uint32_t>(tag)});
  }
  return ready_;
}

}  // namespace weft::run
