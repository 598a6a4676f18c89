// SPDX-License-Identifier: BSD-3-Clause
// Copying from and to a peer's memory directly (process_vm_readv, process_vm_writev).
//
// Cost: a system call; some 40 ns for each piece here, and some 150 ns for each of the peer's, as the system looks up
// its memory and pins its pages.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "net/endpoint.hpp"
#include "net/memory_piece.hpp"

namespace weft::net::shm {

/// Allows the launcher, and with it the other ranks that descend from it, to read this process's memory where Yama
/// restricts that; never everybody. Does nothing where there is no Yama.
void allow_launcher_to_read(std::uint32_t launcher_process) noexcept;

/// Copies from another process, as `endpoint::read_remote`. Only a failed copy leaves pieces out.
[[nodiscard]] copy_result read_process(pid_t process, memory_pieces here, memory_pieces there) noexcept;

/// Copies to another process, as `endpoint::write_remote`.
[[nodiscard]] copy_result write_process(pid_t process, memory_pieces here, memory_pieces there) noexcept;

}  // namespace weft::net::shm
