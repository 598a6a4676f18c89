// SPDX-License-Identifier: BSD-3-Clause
// Only of operations whose bytes go after their first message: in a rendezvous, or by steps of a copy.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/try_lock.hpp"
#include "core/message/copy_choice.hpp"
#include "core/message/payload.hpp"
#include "core/message/shared_copy.hpp"
#include "core/operation/listed_field.hpp"

namespace weft::core {

/// A `list_position`, and the generation of the operation whose list it is in.
struct kept_position {
  std::uint64_t begin = 0;
  std::uint32_t piece = 0;
  std::uint32_t generation = 0;  // 0: of none
};

/// A list of pieces in the memory of the peer, and where a copy is in it.
struct remote_list {
  std::uint64_t begin = 0;  // the byte of the message that is the first of piece `piece`
  std::uint32_t piece = 0;
  std::uint32_t pieces = 0;  // number of pieces of the list; 0: the bytes are in one piece
};

struct copy_part {
  std::atomic<std::uint64_t> moved{0};  // bytes copied so far; chunks may arrive on several devices
  bool is_alone = false;                // receiver: the sender's help has failed
  bool acknowledge = false;             // FIN completes it, also after packets
  base::try_lock uses_position;         // held for a load or store of `kept`, never during a copy
  bool is_counted = false;              // receiver: among the long active messages under way
  std::atomic<bool> has_failed{false};  // receiver: a kind of memory has failed, at either side
  chosen_copy chosen;                   // receiver: of a message with an RTS
  std::uint32_t chosen_at = 0;          // see `timed_copy::begun`
  std::uint32_t number = 0;             // number of `state`'s copy
  copy_state* state = nullptr;          // shared by both sides, which copy a long message
  std::uint64_t remote_address = 0;     // address at the peer, of the bytes or of the list of pieces; 0: not known here
  listed_field<std::uint64_t> remote_ticket;
  kept_position kept;  // position in the list of this rank's buffer, if it is one
  remote_list remote;

  /// The bytes at the peer are at `address`, or in `pieces` pieces that a list there names. Before a byte is copied.
  void begin(std::uint64_t address, std::uint32_t pieces) noexcept {
    remote_address = address;
    has_failed.store(false, std::memory_order_relaxed);  // [own] no chunk is under way yet
    remote = {.pieces = pieces};
  }
  /// `copy` gets the position where the last copy of the use with this ticket has ended, and changes it; without a
  /// list, and where another thread holds the lock, the first one. Chunks may arrive on several devices; and a faulty
  /// peer that sends one twice may end the operation while a thread copies: the position that this thread keeps
  /// afterwards is of its own use, so that no later use takes it for one in its list.
  template <class Copy>
  auto with_position(bool is_list, std::uint64_t use, const Copy& copy) noexcept {
    list_position position;
    if (!is_list) return copy(position);
    const auto generation = static_cast<std::uint32_t>(use >> 32);
    if (uses_position.try_enter()) {
      if (kept.generation == generation) position = {kept.begin, kept.piece};
      uses_position.leave();
    }
    struct keeping {
      copy_part& part;
      const list_position& position;
      std::uint32_t generation;
      ~keeping() {
        if (!part.uses_position.try_enter()) return;
        part.kept = {position.begin, position.piece, generation};
        part.uses_position.leave();
      }
    };
    const keeping at_end{*this, position, generation};
    return copy(position);
  }
};

}  // namespace weft::core
