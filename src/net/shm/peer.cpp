// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/peer.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <cstring>

#include "base/log.hpp"
#include "net/packet_stride.hpp"
#include "net/shm/cross_memory.hpp"
#include "weft/error.hpp"

namespace weft::net::shm {

void peer::attach(std::byte* base, segment mapped, base::descriptor connection, bool same_process,
                  std::uint32_t process_id) {
  segment_header seen;
  std::memcpy(static_cast<void*>(&seen), base, offsetof(segment_header, live));
  if (seen.magic != segment_magic || seen.rank != rank_ || seen.shape != layout_->shape) {
    throw error{errc::transport_failed,
                fmt::format("rank {} finds a segment of rank {} that does not fit its own settings: give all ranks the "
                            "same WEFT_* settings and the same version of Weft",
                            self_, rank_)};
  }
  base_ = base;
  mapped_ = std::move(mapped);
  connection_ = std::move(connection);
  same_process_ = same_process;
  process_id_ = process_id;
}

void peer::release(void* data, std::size_t /*bytes*/) noexcept {
  if (is_copy_) [[unlikely]]
    return;
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(data) - base_) - layout_->packets;
  const auto index = static_cast<std::uint32_t>(offset / packet_stride(layout_->shape.packet_bytes));
  auto* entries = reinterpret_cast<return_ring::entry*>(base_ + layout_->return_ring(self_));
  return_ring::put(entries, layout_->return_entries, returned_, index);
}

void peer::become_copy() noexcept {
  is_copy_ = true;
  connection_ = base::descriptor{};  // a copy left open would hide the end of the parent from the peer
}

copy_result peer::read(memory_pieces here, memory_pieces there) const noexcept {
  if (!can_read_) return copy_result::unavailable;
  if (same_process_) {
    copy_here(here, there);
    return copy_result::done;
  }
  const copy_result answer = read_process(static_cast<pid_t>(process_id_), here, there);
  // Checked after the read: if the peer still lives, no other process had its number during the read.
  return has_hung_up() ? copy_result::peer_gone : answer;
}

copy_result peer::write(memory_pieces here, memory_pieces there) const noexcept {
  if (!can_read_) return copy_result::unavailable;
  if (same_process_) {
    copy_here(there, here);
    return copy_result::done;
  }
  if (has_hung_up()) return copy_result::peer_gone;
  return write_process(static_cast<pid_t>(process_id_), here, there);
}

// When a process has died, the kernel may give its number to another process, whose memory must not be read or written.
bool peer::has_hung_up() const noexcept {
  pollfd entry{connection_.get(), 0, 0};
  return ::poll(&entry, 1, 0) > 0;
}

direct_copies peer::copies() const noexcept {
  if (!can_read_) return {false, "WEFT_SHM_CMA=off, or the kernel forbids it (seccomp, Yama, a different user)"};
  return {true, same_process_ ? "both are threads of one process" : "process_vm_readv and process_vm_writev"};
}

void peer::probe(bool wanted) noexcept {
  can_read_ = wanted;
  if (!wanted) return;
  std::uint64_t value = 0;
  const segment_header& there = header();
  const memory_piece to = piece_of(&value, sizeof value);
  const memory_piece from{there.probe_address, sizeof value};
  if (read({&to, 1}, {&from, 1}) == copy_result::done && value == there.probe_value) return;
  can_read_ = false;
  static base::said_once said;
  base::log_once(
      said, base::log_level::warn,
      "the kernel forbids reading the memory of rank {}: long messages are copied through packets (ptrace is "
      "restricted by seccomp, Yama, or a different user; WEFT_SHM_CMA=off silences this)",
      rank_);
}

}  // namespace weft::net::shm
