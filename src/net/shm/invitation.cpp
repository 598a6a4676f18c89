// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/invitation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/error.hpp"

namespace weft::net::shm {

std::string bytes_of(const invitation& mine) {
  const invitation_head& head = mine;
  return std::string{reinterpret_cast<const char*>(&head), sizeof head} + mine.processors.to_text();
}

invitation read_invitation(std::string_view bytes, std::uint32_t rank) {
  invitation_head head{};
  // A rank whose processors are not known has none.
  const std::string list{bytes.substr(std::min(bytes.size(), sizeof head))};
  base::processor_set processors = base::read_processor_list(list);
  if (bytes.size() < sizeof head || processors.to_text() != list) {
    throw error{
        errc::transport_failed,
        fmt::format("rank {} published an invitation of {} bytes that is none: do all ranks use the same version "
                    "of Weft?",
                    rank, bytes.size())};
  }
  std::memcpy(&head, bytes.data(), sizeof head);
  return {head, std::move(processors)};
}

std::string socket_name(const secret& segment) {
  std::string out = "weft-";
  for (const unsigned char byte : segment) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace weft::net::shm
