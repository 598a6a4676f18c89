#include "net/shm/cross_memory.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>

namespace weft::net::shm {

void allow_launcher_to_read(std::uint32_t launcher_process) noexcept {
  static_cast<void>(prctl(PR_SET_PTRACER, static_cast<unsigned long>(launcher_process), 0, 0, 0));
}

namespace {

// `copy` moves up to `bytes` bytes between `local` and `remote`, as the system calls do.
template <class Copy>
copy_result copy_all(std::byte* local, std::uint64_t remote, std::size_t bytes, const Copy& copy) noexcept {
  while (bytes > 0) {
    const iovec here{local, bytes};
    const iovec there{reinterpret_cast<void*>(remote), bytes};
    const ssize_t moved = copy(here, there);
    if (moved <= 0) {
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0 && errno == ESRCH) return copy_result::peer_gone;
      return moved < 0 && errno != EFAULT ? copy_result::unavailable : copy_result::bad_address;
    }
    local += moved;
    remote += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return copy_result::done;
}

}  // namespace

copy_result read_process(pid_t process, void* target, std::uint64_t remote, std::size_t bytes) noexcept {
  return copy_all(static_cast<std::byte*>(target), remote, bytes, [&](const iovec& here, const iovec& there) {
    return process_vm_readv(process, &here, 1, &there, 1, 0);
  });
}

copy_result write_process(pid_t process, const void* source, std::uint64_t remote, std::size_t bytes) noexcept {
  auto* const from = static_cast<std::byte*>(const_cast<void*>(source));
  return copy_all(from, remote, bytes, [&](const iovec& here, const iovec& there) {
    return process_vm_writev(process, &here, 1, &there, 1, 0);
  });
}

}  // namespace weft::net::shm
