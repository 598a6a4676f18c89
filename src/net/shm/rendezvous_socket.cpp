// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/rendezvous_socket.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "weft/error.hpp"

namespace weft::net::shm {
namespace {

[[noreturn]] void fail(const char* action) {
  throw error{errc::transport_failed, fmt::format("{}: {}", action, std::strerror(errno))};
}

sockaddr_un address_of(const std::string& name, socklen_t& length) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  // A leading zero byte: the abstract namespace, which leaves no file behind.
  std::memcpy(out.sun_path + 1, name.data(), std::min(name.size(), sizeof out.sun_path - 1));
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return out;
}

void wait_for(std::span<pollfd> entries, deadline until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(base::clock::left_to_sleep(until)).count();
    const int ready = ::poll(entries.data(), entries.size(), static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
    if (ready > 0) return;
    if (ready == 0 && left <= 0) throw error{errc::transport_failed, "nobody there within WEFT_BOOT_TIMEOUT_S"};
    if (ready < 0 && errno != EINTR) fail("waiting for a socket");
  }
}

void wait_for(int fd, short events, deadline until) {
  pollfd entry{fd, events, 0};
  wait_for({&entry, 1}, until);
}

// All descriptors that came with a message: this process now owns them, wanted or not. One is expected; the padding
// of the control buffer has room for a second.
std::vector<base::descriptor> descriptors_of(msghdr& message) {
  std::vector<base::descriptor> out;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t offset = 0; CMSG_LEN(offset + sizeof(int)) <= each->cmsg_len; offset += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(each) + offset, sizeof fd);
      out.emplace_back(fd);
    }
  }
  return out;
}

base::descriptor new_socket() {
  base::descriptor out{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!out) fail("making a Unix socket");
  return out;
}

}  // namespace

base::descriptor listen_at(const std::string& name, int visitors_max) {
  base::descriptor out = new_socket();
  socklen_t length = 0;
  const sockaddr_un address = address_of(name, length);
  if (::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) fail("naming a Unix socket");
  if (::listen(out.get(), visitors_max) != 0) fail("listening on a Unix socket");
  return out;
}

base::descriptor accept_at(const base::descriptor& listener, deadline until) {
  for (;;) {
    wait_for(listener.get(), POLLIN, until);
    base::descriptor out{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (out) return out;
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) fail("accepting on a Unix socket");
  }
}

std::vector<std::size_t> wait_for_any(std::span<const int> sockets, deadline until) {
  std::vector<pollfd> entries;
  for (const int socket : sockets) entries.push_back({socket, POLLIN, 0});
  wait_for(entries, until);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].revents != 0) out.push_back(i);
  }
  return out;
}

base::descriptor connect_to(const std::string& name, deadline until) {
  base::descriptor out = new_socket();
  socklen_t length = 0;
  const sockaddr_un address = address_of(name, length);
  while (::connect(out.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    // A full queue of visitors: try again shortly, until the deadline.
    if (errno != EAGAIN && errno != EINTR) fail("connecting to its socket");
    if (base::clock::now() > until) fail("connecting to its socket");
    ::poll(nullptr, 0, 1);
  }
  return out;
}

std::uint32_t process_behind(const base::descriptor& socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    fail("asking who is at the other end");
  if (credentials.uid != ::geteuid()) {
    throw error{errc::transport_failed, fmt::format("the other end belongs to user {}: refused", credentials.uid)};
  }
  return static_cast<std::uint32_t>(credentials.pid);
}

void send_bytes(const base::descriptor& socket, const void* bytes, std::size_t count, const base::descriptor& file,
                deadline until) {
  iovec part{const_cast<void*>(bytes), count};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = file.get();
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  for (;;) {
    wait_for(socket.get(), POLLOUT, until);
    const ssize_t sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(count)) return;
    if (sent >= 0 || (errno != EAGAIN && errno != EINTR)) fail("sending a segment");
  }
}

base::descriptor receive_bytes(const base::descriptor& socket, void* bytes, std::size_t count, deadline until) {
  iovec part{bytes, count};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = -1;
  do {
    wait_for(socket.get(), POLLIN, until);
    got = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && (errno == EAGAIN || errno == EINTR));
  std::vector<base::descriptor> files;
  if (got >= 0) files = descriptors_of(message);
  if (got >= 0 && (message.msg_flags & MSG_CTRUNC) != 0 && files.empty() && !base::descriptor{::dup(socket.get())}) {
    throw error{errc::out_of_memory,
                fmt::format("this process has no descriptor left for a segment: {}; raise the limit on open files "
                            "(ulimit -n)",
                            std::strerror(errno))};
  }
  if (got != static_cast<ssize_t>(count) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || files.size() != 1) {
    throw error{errc::transport_failed, got == 0 ? "it hung up" : "it sent something else than a segment"};
  }
  return std::move(files.front());
}

}  // namespace weft::net::shm
