// Copying from and to a peer's memory directly (process_vm_readv, process_vm_writev).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "net/transport.hpp"

namespace weft::net::shm {

/// Allows the launcher, and with it the other ranks that descend from it, to read this process's memory where Yama
/// restricts that; never everybody. Does nothing where there is no Yama.
void allow_launcher_to_read(std::uint32_t launcher_process) noexcept;

/// Copies from another process. May be short of `bytes` only in failure.
[[nodiscard]] copy_result read_process(pid_t process, void* target, std::uint64_t remote, std::size_t bytes) noexcept;

/// The same to another process.
[[nodiscard]] copy_result write_process(pid_t process, const void* source, std::uint64_t remote,
                                        std::size_t bytes) noexcept;

}  // namespace weft::net::shm
