#include "net/shm/cross_memory.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>

namespace weft::net::shm {

void allow_launcher_to_read(std::uint32_t launcher_process) noexcept {
  static_cast<void>(prctl(PR_SET_PTRACER, static_cast<unsigned long>(launcher_process), 0, 0, 0));
}

copy_result read_process(pid_t process, void* target, std::uint64_t remote, std::size_t bytes) noexcept {
  auto* to = static_cast<std::byte*>(target);
  while (bytes > 0) {
    const iovec local{to, bytes};
    const iovec there{reinterpret_cast<void*>(remote), bytes};
    const ssize_t moved = process_vm_readv(process, &local, 1, &there, 1, 0);
    if (moved <= 0) {
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0 && errno == ESRCH) return copy_result::peer_gone;
      return moved < 0 && errno != EFAULT ? copy_result::unavailable : copy_result::bad_address;
    }
    to += moved;
    remote += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return copy_result::done;
}

}  // namespace weft::net::shm
