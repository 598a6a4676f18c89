// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/invitation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "weft/error.hpp"

namespace weft::net::shm {

std::string bytes_of(const invitation& mine) {
  const invitation_head& head = mine;
  const std::span<const std::uint64_t> words = mine.processors.words();
  std::string out{reinterpret_cast<const char*>(&head), sizeof head};
  return out.append(reinterpret_cast<const char*>(words.data()), words.size_bytes());
}

invitation read_invitation(std::string_view bytes, std::uint32_t rank) {
  invitation_head head{};
  // A rank whose processors are not known has none.
  const std::string_view rest = bytes.substr(std::min(bytes.size(), sizeof head));
  std::vector<std::uint64_t> words(rest.size() / sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(words.data(), rest.data(), words.size() * sizeof(std::uint64_t));
  base::processor_set processors;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(words.size(), base::processor_set::size / 64); ++i) {
    for (std::uint32_t bit = 0; bit < 64; ++bit) {
      if ((words[i] >> bit & 1) != 0) processors.add(64 * i + bit);
    }
  }
  if (bytes.size() < sizeof head || rest.size() % sizeof(std::uint64_t) != 0 ||
      !std::ranges::equal(words, processors.words())) {
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
