// SPDX-License-Identifier: BSD-3-Clause
// The data that ranks exchange before they share memory: the invitation that each publishes through the bootstrap, and
// the greeting of a visitor at a socket. No field is used before it is checked.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/processors.hpp"
#include "base/this_machine.hpp"

namespace weft::net::shm {

using secret = std::array<unsigned char, 16>;

/// The first part of a rank's entry in the bootstrap.
struct invitation_head {
  base::machine_mark::name_type machine;  // found by ranks that can reach this one's sockets
  secret process;                         // equal for ranks of one process
  secret segment;                         // names the segment in this process, and the socket
  secret password;                        // which a visitor has to send
};

/// All of the entry. The words of the processors follow the head: a list of every second processor of a large machine
/// would be longer than a value of the bootstrap may be.
struct invitation : invitation_head {
  base::processor_set processors{};  // that the rank may run on
};

/// The first message of a visitor, with its segment's descriptor, and its host's answer, with the host's descriptor.
struct greeting {
  secret password;
  std::uint32_t rank;
};

/// The entry itself. **Errors**: std::bad_alloc.
[[nodiscard]] std::string bytes_of(const invitation& mine);
/// The invitation that `rank` has published as `bytes`. **Errors**: transport_failed where they are none;
/// std::bad_alloc.
[[nodiscard]] invitation read_invitation(std::string_view bytes, std::uint32_t rank);

/// The address at which the owner of the segment of this name can be visited.
[[nodiscard]] std::string socket_name(const secret& segment);

/// Whether rank `host` of `ranks` waits for a visitor with this greeting: higher ranks visit lower ones.
[[nodiscard]] constexpr bool is_awaited(const greeting& said, const secret& password, std::uint32_t host,
                                        std::uint32_t ranks) noexcept {
  return said.password == password && said.rank > host && said.rank < ranks;
}

}  // namespace weft::net::shm
