#include "base/this_machine.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "weft/error.hpp"

namespace weft::base {
namespace {

[[noreturn]] void fail(std::string_view action) {
  throw error{errc::transport_failed,
              fmt::format("can't {} to tell this machine from others: {}", action, std::strerror(errno))};
}

// In the abstract namespace, which leaves no file behind.
struct mark_address {
  explicit mark_address(const machine_mark::name_type& name) {
    // Letters and digits: /proc/net/unix and what reads it show the name.
    const std::string text = fmt::format("weft-machine-{:02x}", fmt::join(name, ""));
    whole.sun_family = AF_UNIX;
    std::copy(text.begin(), text.end(), whole.sun_path + 1);
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&whole); }

  sockaddr_un whole{};
  socklen_t bytes;
};

// Datagrams: to connect to such a socket says whether it is there, and its owner needs to do nothing.
int make_socket() {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("make a Unix socket");
  return fd;
}

}  // namespace

machine_mark::machine_mark() {
  if (::getrandom(name_.data(), name_.size(), 0) != static_cast<ssize_t>(name_.size())) fail("get random numbers");
  const mark_address address{name_};
  fd_ = make_socket();
  if (::bind(fd_, address.get(), address.bytes) == 0) return;
  const int problem = errno;
  ::close(fd_);
  errno = problem;
  fail("name a Unix socket");
}

machine_mark::~machine_mark() { ::close(fd_); }

bool is_on_this_machine(const machine_mark::name_type& name) {
  const mark_address address{name};
  const int fd = make_socket();
  const bool found = ::connect(fd, address.get(), address.bytes) == 0;
  const int problem = errno;
  ::close(fd);
  if (found) return true;
  errno = problem;
  if (problem != ECONNREFUSED) fail("look for a Unix socket");
  return false;
}

}  // namespace weft::base
