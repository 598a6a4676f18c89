// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weft/error.hpp"

namespace weft::net::shm {
namespace {

constexpr const char* smaller = "lower WEFT_SHARED_BYTES (8 GiB unless set), WEFT_DEVICES_MAX or WEFT_PACKET_COUNT";

std::byte* map_shared(int fd, std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) {
    throw error{
        errc::out_of_memory,
        fmt::format("can't map a shared segment of {} bytes: {}; {}, or raise the limit on address space (ulimit -v)",
                    bytes, std::strerror(errno), smaller)};
  }
  return static_cast<std::byte*>(memory);
}

// Checked in advance: the kernel answers a file beyond the limit by SIGXFSZ, which ends the process.
void check_file_limit(std::size_t bytes) {
  rlimit file{};
  if (getrlimit(RLIMIT_FSIZE, &file) != 0 || file.rlim_cur == RLIM_INFINITY || bytes <= file.rlim_cur) return;
  throw error{errc::out_of_memory,
              fmt::format("can't make a shared segment of {} bytes: a file may have {}; {}, or raise the limit on file "
                          "sizes (ulimit -f)",
                          bytes, file.rlim_cur, smaller)};
}

}  // namespace

segment::~segment() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

std::pair<segment, base::descriptor> segment::create(std::size_t bytes) {
  check_file_limit(bytes);
  base::descriptor file{memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw error{errc::out_of_memory,
                fmt::format("can't make a shared segment of {} bytes: {}", bytes, std::strerror(errno))};
  }
  segment made{map_shared(file.get(), bytes), bytes};
  return {std::move(made), std::move(file)};
}

segment segment::map(const base::descriptor& file, std::size_t bytes) {
  struct stat facts {};
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (fstat(file.get(), &facts) != 0 || static_cast<std::size_t>(facts.st_size) != bytes) {
    throw error{errc::transport_failed,
                fmt::format("a peer's segment has {} bytes where {} were expected: do all ranks have the same WEFT_* "
                            "settings and the same version of Weft?",
                            facts.st_size, bytes)};
  }
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    throw error{errc::transport_failed, "a peer's segment is not sealed against shrinking: refused"};
  }
  return segment{map_shared(file.get(), bytes), bytes};
}

}  // namespace weft::net::shm
