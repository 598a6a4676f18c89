// SPDX-License-Identifier: BSD-3-Clause
// The first member of each object that a handle points to, so that a handle of another kind is found.
#pragma once

#include <cstdint>

namespace weft::mpi {

/// Numbers that memory rarely has by chance.
enum class object_kind : std::uint32_t {
  freed = 0xdead'0bce,
  datatype = 0x7479'7065,
  communicator = 0x636f'6d6d,
  stream_communicator = 0x7363'6f6d,   // its messages name devices, so that no short path is for it
  pending_communicator = 0x7065'6e64,  // MPI_Comm_idup makes it, until its request is complete
  request = 0x7265'7175,
  continued_request = 0x636f'6e74,     // a request with a continuation, which completes it
  continuation_request = 0x6372'6571,  // MPIX_Continue_init makes it
  error_handler = 0x6572'7268,
  info = 0x696e'666f,
  operation = 0x6f70'6572,
  message = 0x6d65'7373,
  group = 0x6772'6f75,
  file = 0x6669'6c65,
  stream = 0x7374'7265,
};

/// Handles below this are predefined: small numbers instead of addresses.
inline constexpr std::uintptr_t predefined_handles_end = 0x1000;

template <class Handle>
[[nodiscard]] std::uintptr_t number_of(Handle handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}

template <class Handle>
[[nodiscard]] bool is_predefined(Handle handle) noexcept {
  return number_of(handle) < predefined_handles_end;
}

}  // namespace weft::mpi
