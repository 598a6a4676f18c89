// The kinds of messages between cores, and what rides in those that carry no payload of the user's.
#pragma once

#include <cstdint>
#include <type_traits>

namespace weft::core {

/// `header::kind`. A message of a kind that is not listed is refused and counted.
enum class wire : std::uint32_t {
  active_message = 1,  // id, tag and payload: inline or in a packet
  offer,               // id, tag; `offer_body`: a long message waits at its sender
  finished,            // `finished_body`: the sender's buffer is free
  copy_request,        // `copy_request_body`: the memory can't be read, send packets
  chunk,               // tag: the receiver's ticket; id and sequence: low and high half of the offset; payload
};

struct offer_body {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t ticket;  // the sender's operation
};

struct finished_body {
  std::uint64_t ticket;  // the sender's operation
  std::uint64_t error;   // an errc
};

struct copy_request_body {
  std::uint64_t ticket;           // the sender's operation
  std::uint64_t receiver_ticket;  // the receiver's, which every chunk names
};

static_assert(std::is_trivially_copyable_v<offer_body> && sizeof(offer_body) == 24);
static_assert(sizeof(finished_body) == 16 && sizeof(copy_request_body) == 16);

}  // namespace weft::core
