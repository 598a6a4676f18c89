// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/cross_memory.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

namespace weft::net::shm {

void allow_launcher_to_read(std::uint32_t launcher_process) noexcept {
  static_cast<void>(prctl(PR_SET_PTRACER, static_cast<unsigned long>(launcher_process), 0, 0, 0));
}

namespace {

static_assert(sizeof(memory_piece) == sizeof(iovec) && alignof(memory_piece) == alignof(iovec));
static_assert(offsetof(memory_piece, address) == offsetof(iovec, iov_base) &&
              offsetof(memory_piece, bytes) == offsetof(iovec, iov_len));
static_assert(copy_pieces_max <= IOV_MAX);

// The system alone reads them.
const iovec* for_system(memory_pieces pieces) noexcept { return reinterpret_cast<const iovec*>(pieces.data()); }

std::uint64_t bytes_of(memory_pieces pieces) noexcept {
  std::uint64_t out = 0;
  for (const memory_piece& each : pieces) out += each.bytes;
  return out;
}

// The contiguous bytes behind the first `done` bytes of `pieces`, which have more.
memory_piece piece_behind(memory_pieces pieces, std::uint64_t done) noexcept {
  const memory_piece* piece = pieces.data();
  for (; done >= piece->bytes; ++piece) done -= piece->bytes;
  return {piece->address + done, piece->bytes - done};
}

// `copy` moves bytes as the system calls do, perhaps not all: then the rest is copied one piece after the other.
template <class Copy>
copy_result copy_all(memory_pieces all_here, memory_pieces all_there, const Copy& copy) noexcept {
  const std::uint64_t bytes = bytes_of(all_here);
  std::uint64_t done = 0;
  memory_pieces here = all_here;
  memory_pieces there = all_there;
  memory_piece own, remote;
  while (done < bytes) {
    const ssize_t moved = copy(here, there);
    if (moved <= 0) {
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0 && errno == ESRCH) return copy_result::peer_gone;
      return moved < 0 && errno != EFAULT ? copy_result::unavailable : copy_result::bad_address;
    }
    done += static_cast<std::uint64_t>(moved);
    if (done >= bytes) break;
    own = piece_behind(all_here, done);
    remote = piece_behind(all_there, done);
    own.bytes = remote.bytes = std::min(own.bytes, remote.bytes);
    here = {&own, 1};
    there = {&remote, 1};
  }
  return copy_result::done;
}

}  // namespace

copy_result read_process(pid_t process, memory_pieces here, memory_pieces there) noexcept {
  return copy_all(here, there, [process](memory_pieces to, memory_pieces from) {
    return process_vm_readv(process, for_system(to), to.size(), for_system(from), from.size(), 0);
  });
}

copy_result write_process(pid_t process, memory_pieces here, memory_pieces there) noexcept {
  return copy_all(here, there, [process](memory_pieces from, memory_pieces to) {
    return process_vm_writev(process, for_system(from), from.size(), for_system(to), to.size(), 0);
  });
}

}  // namespace weft::net::shm
