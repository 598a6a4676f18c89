// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/invitation.hpp"

#include <fmt/format.h>

#include <cstring>

#include "weft/error.hpp"

namespace weft::net::shm {

invitation read_invitation(std::string_view bytes, std::uint32_t rank) {
  if (bytes.size() != sizeof(invitation)) {
    throw error{errc::transport_failed,
                fmt::format("rank {} published an invitation of {} bytes where {} were expected: do all ranks use the "
                            "same version of Weft?",
                            rank, bytes.size(), sizeof(invitation))};
  }
  invitation out;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

std::string socket_name(const secret& segment) {
  std::string out = "weft-";
  for (const unsigned char byte : segment) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace weft::net::shm
