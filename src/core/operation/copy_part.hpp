// Only of operations whose bytes go after their first message: in a rendezvous, or by steps of a copy.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/try_lock.hpp"
#include "core/message/payload.hpp"
#include "core/message/shared_copy.hpp"
#include "core/operation/listed_field.hpp"

namespace weft::core {

/// A list of pieces in the memory of the peer, and where a copy is in it.
struct remote_list {
  std::uint64_t begin = 0;  // the byte of the message that is the first of piece `piece`
  std::uint32_t piece = 0;
  std::uint32_t pieces = 0;  // of the list; 0: the bytes are in one piece
};

struct copy_part {
  std::atomic<std::uint64_t> moved{0};  // bytes copied so far; chunks may arrive on several devices
  bool is_alone = false;                // receiver: the sender's help has failed
  bool acknowledge = false;             // FIN completes it, also after packets
  base::try_lock uses_position;         // a thread that copies a chunk, while other chunks may arrive
  std::uint32_t number = 0;             // of `state`'s copy
  copy_state* state = nullptr;          // of a long message that both sides copy
  std::uint64_t remote_address = 0;     // of the bytes at the peer, or of the list of their pieces; 0: not known here
  listed_field<std::uint64_t> remote_ticket;
  list_position position;  // in the list of this rank's buffer, if it is one
  remote_list remote;

  /// The bytes at the peer are at `address`, or in `pieces` pieces that a list there names. Before a byte is copied.
  void begin(std::uint64_t address, std::uint32_t pieces) noexcept {
    remote_address = address;
    remote = {.pieces = pieces};
    position = {};
  }
  /// For chunks, which may arrive on several devices: `copy` gets a position, and leaves one behind. A thread that
  /// finds the operation's position in use begins at the first piece.
  template <class Copy>
  void with_position(const Copy& copy) noexcept {
    if (!uses_position.try_enter()) [[unlikely]] {
      list_position own;
      return copy(own);
    }
    copy(position);
    uses_position.leave();
  }
};

}  // namespace weft::core
