// SPDX-License-Identifier: BSD-3-Clause
// What arrives over a fabric: a header that is believed, and then its payload lies within the message, or none.
#include <cstring>
#include <vector>

#include "fuzz/input.hpp"
#include "net/ofi/wire.hpp"
#include "support/boundaries.hpp"

namespace {

using namespace weft::net::ofi;
using weft::fuzz::require;

constexpr wire_bounds mine{.job = 0x0123'4567'89ab'cdef, .ranks = 3, .self = 1, .packet_bytes = 512};

// What can be, with any of its fields changed.
wire_header nearly_right(weft::fuzz::input& in) {
  wire_header out;
  out.job = mine.job;
  out.source = in.take<std::uint8_t>() % 4;
  out.bytes = in.take<std::uint16_t>() % 600;
  out.is_packet = in.take<std::uint8_t>() % 3;
  for (unsigned changes = in.take<std::uint8_t>() % 3; changes > 0; --changes) {
    const std::size_t at = in.take<std::uint8_t>() % (sizeof out - 3);
    const auto word = static_cast<std::uint32_t>(
        weft::test::boundary_words[in.take<std::uint8_t>() % weft::test::boundary_words.size()]);
    std::memcpy(reinterpret_cast<unsigned char*>(&out) + at, &word, sizeof word);
  }
  return out;
}

void read(std::span<const std::byte> message) {
  const auto found = read_header(message, mine);
  if (!found) return;
  require(found->job == mine.job && found->version == wire_version, "another job's");
  require(found->source < mine.ranks && found->source != mine.self, "another source");
  require(found->bytes <= (found->is_packet != 0 ? mine.packet_bytes : weft::detail::inline_bytes_max), "too long");
  require(sizeof(wire_header) + std::uint64_t{found->bytes} == message.size(), "a payload outside of its message");
  volatile unsigned sum = 0;
  for (const std::byte each : message.subspan(sizeof(wire_header))) sum = sum + std::to_integer<unsigned>(each);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Blocks of exactly these sizes, so that a look beyond one is seen.
  const std::vector<std::byte> bare{reinterpret_cast<const std::byte*>(data),
                                    reinterpret_cast<const std::byte*>(data) + size};
  read(bare);
  weft::fuzz::input in{data, size};
  const wire_header header = nearly_right(in);
  // As long as it says, as long as it is, or a few bytes off.
  const std::size_t payload = in.take<std::uint8_t>() % 4 == 0 ? in.take<std::uint16_t>() % 600U : header.bytes % 600U;
  std::vector<std::byte> message(sizeof header + payload);
  std::memcpy(message.data(), &header, sizeof header);
  read(message);
  read(std::span{message}.first(in.take<std::uint8_t>() % (message.size() + 1)));
  return 0;
}
