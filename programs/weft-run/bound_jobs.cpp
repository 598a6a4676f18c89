#include "weft-run/bound_jobs.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace weft::run {
namespace {

constexpr std::string_view prefix = "weft-run-bound-";

// hwloc's own form of a set, as 0xf,0xffffffff.
std::string text_of(hwloc_const_bitmap_t processors) {
  char* text = nullptr;
  if (hwloc_bitmap_asprintf(&text, processors) < 0) return {};
  const std::unique_ptr<char, decltype(&std::free)> owner{text, &std::free};
  return text;
}

}  // namespace

descriptor announce_binding(hwloc_const_bitmap_t processors) {
  const std::string name = fmt::format("{}{}-{}", prefix, ::getpid(), text_of(processors));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) return {};  // thousands of processors
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  descriptor out{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!out.open() || ::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) return {};
  return out;
}

// Anybody may choose such a name: what is no set of processors is left alone.
bool find_bound_jobs(hwloc_bitmap_t taken) {
  const bitmap theirs{hwloc_bitmap_alloc()};
  if (!theirs) return false;
  std::ifstream sockets{"/proc/net/unix"};
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.find(fmt::format("@{}", prefix));
    if (at == std::string::npos) continue;
    const std::size_t set = line.find('-', at + 1 + prefix.size());
    if (set == std::string::npos || hwloc_bitmap_sscanf(theirs.get(), line.c_str() + set + 1) != 0) continue;
    if (hwloc_bitmap_or(taken, taken, theirs.get()) != 0) return false;
  }
  return true;
}

}  // namespace weft::run
