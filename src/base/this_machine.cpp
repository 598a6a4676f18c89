// SPDX-License-Identifier: BSD-3-Clause
#include "base/this_machine.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "weft/error.hpp"

namespace weft::base {
namespace {

[[noreturn]] void fail(std::string_view action) {
  throw error{errc::transport_failed,
              fmt::format("can't {} to tell this machine from others: {}", action, std::strerror(errno))};
}

// The name is in the abstract namespace, which leaves no file behind.
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
descriptor make_socket() {
  descriptor made{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (!made) fail("make a Unix socket");
  return made;
}

}  // namespace

machine_mark::machine_mark() {
  if (!try_fill_random(std::as_writable_bytes(std::span{name_}))) fail("get random numbers");
  const mark_address address{name_};
  socket_ = make_socket();
  if (::bind(socket_.get(), address.get(), address.bytes) != 0) fail("name a Unix socket");
}

bool is_on_this_machine(const machine_mark::name_type& name) {
  const mark_address address{name};
  const descriptor socket = make_socket();
  if (::connect(socket.get(), address.get(), address.bytes) == 0) return true;
  if (errno != ECONNREFUSED) fail("look for a Unix socket");
  return false;
}

}  // namespace weft::base
