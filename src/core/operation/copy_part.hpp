// Only of operations whose bytes go after their first message: in a rendezvous, or by steps of a copy.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/message/shared_copy.hpp"
#include "core/operation/listed_field.hpp"

namespace weft::core {

struct copy_part {
  std::atomic<std::uint64_t> moved{0};  // bytes copied so far; chunks may arrive on several devices
  bool is_alone = false;                // receiver: the sender's help has failed
  bool acknowledge = false;             // FIN completes it, also after packets
  std::uint32_t number = 0;             // of `state`'s copy
  copy_state* state = nullptr;          // of a long message that both sides copy
  std::uint64_t remote_address = 0;     // of the bytes at the peer; 0: they are not in one piece there
  listed_field<std::uint64_t> remote_ticket;
};

}  // namespace weft::core
