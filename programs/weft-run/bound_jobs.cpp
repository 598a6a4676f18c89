// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/bound_jobs.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <fstream>

namespace weft::run {
namespace {

constexpr std::string_view prefix = "weft-run-bound-";
constexpr std::string_view lock_name = "weft-run-chooses-cores";
constexpr std::size_t name_bytes_max = sizeof(sockaddr_un::sun_path) - 1;
constexpr unsigned processors_max = 1U << 16;  // Linux has 8192 at most; a stranger's name shall not take memory

struct abstract_address {
  explicit abstract_address(std::string_view name) noexcept
      : bytes{static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())} {
    address.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), address.sun_path + 1);
  }
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t bytes;
};

descriptor make_socket(int type) { return descriptor{::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)}; }

// `7` or `4-7`, and what comes after it.
bool parse_range(std::string_view& text, unsigned& first, unsigned& last) noexcept {
  const auto number = [&](unsigned& into) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), into);
    if (problem != std::errc{} || into >= processors_max) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  if (!number(first)) return false;
  last = first;
  if (!text.starts_with('-')) return true;
  text.remove_prefix(1);
  return number(last) && first <= last;
}

}  // namespace

std::optional<choice_lock> choice_lock::wait_for(std::chrono::milliseconds timeout) {
  using clock = std::chrono::steady_clock;
  const abstract_address address{lock_name};
  const auto deadline = clock::now() + timeout;
  do {
    descriptor listener = make_socket(SOCK_STREAM);
    if (!listener.open()) return std::nullopt;
    if (::bind(listener.get(), address.get(), address.bytes) == 0) {
      if (::listen(listener.get(), 64) != 0) return std::nullopt;
      return choice_lock{std::move(listener)};
    }
    if (errno != EADDRINUSE) return std::nullopt;
    // The name may be gone again, or not listened at yet, or have too many that wait: then it is tried again soon.
    const descriptor waiting = make_socket(SOCK_STREAM);
    const bool connected = waiting.open() && ::connect(waiting.get(), address.get(), address.bytes) == 0;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    pollfd holder{connected ? waiting.get() : -1, 0, 0};
    static_cast<void>(::poll(&holder, 1, static_cast<int>(connected ? std::max<long>(left, 0) : 1)));
  } while (clock::now() < deadline);
  return std::nullopt;
}

std::vector<std::string> announcements_of(pid_t pid, hwloc_const_bitmap_t processors) {
  const std::string head = fmt::format("{}{}-", prefix, pid);
  std::vector<std::string> names;
  std::string name = head;
  for (int first = hwloc_bitmap_first(processors); first >= 0;) {
    int last = first;
    while (hwloc_bitmap_isset(processors, static_cast<unsigned>(last) + 1) != 0) ++last;
    const std::string range = first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    if (name.size() + 1 + range.size() > name_bytes_max) names.push_back(std::exchange(name, head));
    if (name.size() > head.size()) name += ',';
    name += range;
    first = hwloc_bitmap_next(processors, last);
  }
  if (name.size() > head.size()) names.push_back(name);
  return names;
}

bool add_announced(std::string_view name, hwloc_bitmap_t taken) {
  if (!name.starts_with(prefix)) return true;
  name.remove_prefix(prefix.size());
  const std::size_t end_of_pid = name.find('-');
  if (end_of_pid == name.npos) return true;
  name.remove_prefix(end_of_pid + 1);
  const bitmap theirs{hwloc_bitmap_alloc()};
  if (!theirs) return false;
  for (bool more = true; more;) {
    unsigned first = 0, last = 0;
    if (!parse_range(name, first, last)) return true;
    if (hwloc_bitmap_set_range(theirs.get(), first, static_cast<int>(last)) != 0) return false;
    more = name.starts_with(',');
    if (more) name.remove_prefix(1);
  }
  return !name.empty() || hwloc_bitmap_or(taken, taken, theirs.get()) == 0;
}

std::vector<descriptor> announce_binding(hwloc_const_bitmap_t processors) {
  std::vector<descriptor> sockets;
  for (const std::string& name : announcements_of(::getpid(), processors)) {
    const abstract_address address{name};
    descriptor& out = sockets.emplace_back(make_socket(SOCK_DGRAM));
    if (!out.open() || ::bind(out.get(), address.get(), address.bytes) != 0) return {};
  }
  return sockets;
}

bool find_bound_jobs(hwloc_bitmap_t taken) {
  std::ifstream sockets{"/proc/net/unix"};
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t sign = line.find('@');
    if (sign != std::string::npos && !add_announced(std::string_view{line}.substr(sign + 1), taken)) return false;
  }
  return true;
}

}  // namespace weft::run
