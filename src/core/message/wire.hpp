// SPDX-License-Identifier: BSD-3-Clause
// The kinds of messages between ranks, and the contents of messages without a payload of the user's.
#pragma once

#include <cstdint>
#include <type_traits>

namespace weft::core {

/// The low byte of `header::kind`. A kind that is not listed is refused and counted.
///
/// The high byte has a send's policy, and the device of the sender's at which it waits for the answer, if it wants one:
/// RTS, RTR, requests of puts, gets and atomics, requests to withdraw, and requests for notices.
enum class wire : std::uint32_t {
  active_message = 1,  // id, tag and payload: inline or in a packet
  rts,                 // RTS (ready to send). id, tag; `rts_body`: a long message waits at its sender
  fin,                 // FIN. `fin_body`: the operation is complete at its target, the sender's buffer is free
  rtr,                 // RTR (ready to receive). `rtr_body`: the memory can't be read, send packets
  chunk,               // tag: the receiver's ticket; id and sequence: low and high half of the offset; payload
  send,                // id: the engine; sequence: its number there, 0 if it has none; tag and payload
  send_rts,            // a send with `rts_body`
  put,                 // id: of the object to signal, or `no_signal`; tag; `put_body` and payload, in a packet
  put_rts,             // id and tag the same; `put_rts_body`: ask for packets
  get,                 // id and tag the same; `put_rts_body`: send packets
  put_signal,          // id, tag; `signal_body`: data has been written into a region
  get_signal,          // id, tag; `signal_body`: data has been read from a region
  atomic,              // sequence: operation and size of the word; `atomic_body`
  atomic_result,       // `atomic_result_body`
  copy_invitation,     // `copy_invitation_body`: the receiver copies a long message, and its sender may help
  budget_notice,       // sequence: the number of this notice, odd: send RTS instead of packets (send_budget.hpp)
  // Messages of receiver-first engines (receiver_first.cpp), where the receiver begins.
  ready_to_receive,  // RTR. id: the engine; sequence: its number there; tag; `ready_body`: a receive waits for its send
  last_chunk,        // the message's last `chunk` to such a receive
  written,           // FIN. `written_body`: the receive's buffer has been written, or will be by chunks, or an error
  withdraw_rtr,      // id, sequence: as of an RTR; `withdraw_rtr_body`: its receive is cancelled, unless it has matched
  // Messages about a long message that its sender cancels (withdraw_rts.cpp).
  withdraw_rts,     // id, tag: as of its RTS; `withdraw_rts_body`: it is not to be received, unless that has begun
  withdraw_answer,  // `withdraw_answer_body`: that RTS is not here
  // Sent for a message whose bytes the sender can't read (rendezvous.cpp).
  chunks_failed,  // tag: the receiver's ticket; `chunks_failed_body`: no further packets come
  // Used by ordered and receiver-first engines (order_credits.hpp).
  order_notice,   // sequence: how many numbered messages of the peer were put in order
  order_request,  // sequence: what the device that asks for a notice knows
};

inline constexpr unsigned policy_shift = 8;
inline constexpr unsigned asker_shift = 10;
inline constexpr std::uint32_t askers_max = 1U << (16 - asker_shift);

[[nodiscard]] constexpr std::uint32_t kind_word(wire kind, std::uint32_t policy) noexcept {
  return static_cast<std::uint32_t>(kind) | policy << policy_shift;
}
/// The word of a message that is answered: the answer goes to the sender's device `asker`.
[[nodiscard]] constexpr std::uint32_t asking_word(std::uint32_t kind, std::uint32_t asker) noexcept {
  return kind | asker << asker_shift;
}
[[nodiscard]] constexpr std::uint32_t asking_word(wire kind, std::uint32_t asker) noexcept {
  return asking_word(static_cast<std::uint32_t>(kind), asker);
}
[[nodiscard]] constexpr wire kind_of(std::uint32_t kind) noexcept { return static_cast<wire>(kind & 0xff); }
/// The policy of a send: 0 to 3, and each of these is one.
[[nodiscard]] constexpr std::uint32_t policy_of(std::uint32_t kind) noexcept {
  return kind >> policy_shift & ((1U << (asker_shift - policy_shift)) - 1);
}
/// Which of the sender's devices gets the answer: below `askers_max`, of a faulty peer any; a transport sends to the
/// default device for one that is not there.
[[nodiscard]] constexpr std::uint32_t asker_of(std::uint32_t kind) noexcept {
  return kind >> asker_shift & (askers_max - 1);
}

/// Whether the id of such a message names a matching engine.
[[nodiscard]] constexpr bool is_for_engine(std::uint32_t kind) noexcept {
  return kind_of(kind) == wire::send || kind_of(kind) == wire::send_rts || kind_of(kind) == wire::ready_to_receive ||
         kind_of(kind) == wire::withdraw_rtr;
}

/// The id of a put or get that signals no object at its target.
inline constexpr std::uint32_t no_signal = ~std::uint32_t{0};

struct rts_body {
  std::uint64_t address;  // address of the bytes, or of a list of their pieces; 0: ask for packets
  std::uint64_t bytes;
  std::uint64_t ticket;       // the sender's operation
  std::uint32_t acknowledge;  // whether the sender waits for FIN also if it sends packets
  std::uint32_t pieces = 0;   // number of pieces of the list; 0: the bytes are in one piece
};

struct fin_body {
  std::uint64_t ticket;  // the sender's operation
  std::uint64_t error;   // an errc
};

struct rtr_body {
  std::uint64_t ticket;           // the sender's operation
  std::uint64_t receiver_ticket;  // the receiver's, which every chunk names
};

struct copy_invitation_body {
  std::uint64_t ticket;   // the sender's operation
  std::uint64_t address;  // address of the receiver's buffer, or of a list of its pieces
  std::uint64_t bytes;
  std::uint32_t index;            // index of the copy state, in the shared memory of the receiver
  std::uint32_t number;           // number of the copy (shared_copy.hpp)
  std::uint32_t pieces = 0;       // length of the list; 0: the buffer is one piece
  std::uint32_t asked_pages = 0;  // pages of 4 KiB that a side copies at a time; 0: by the size of the message
};

struct chunks_failed_body {
  std::uint64_t sent;    // bytes in packets before
  std::uint64_t bytes;   // size of the message
  std::uint64_t is_end;  // not 0: no `written` has announced the message's end to a receive of a receiver-first engine
};

struct put_body {
  std::uint64_t region;
  std::uint64_t offset;
  std::uint64_t ticket;  // the origin's operation
};

struct put_rts_body {
  std::uint64_t region;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t ticket;  // the origin's operation
};

struct signal_body {
  std::uint64_t region;
  std::uint64_t offset;
  std::uint64_t bytes;
};

struct atomic_body {
  std::uint64_t region;
  std::uint64_t offset;
  std::uint64_t operand;
  std::uint64_t compare;
  std::uint64_t ticket;  // the origin's operation
};

struct atomic_result_body {
  std::uint64_t ticket;
  std::uint64_t value;
  std::uint64_t error;  // an errc
};

struct ready_body {
  std::uint64_t address;     // address of the receive's buffer, or of a list of its pieces; 0: send packets
  std::uint64_t bytes;       // size of the buffer
  std::uint64_t ticket;      // the receiver's operation
  std::uint64_t pieces = 0;  // length of the list; 0: the buffer is one piece
};

struct written_body {
  std::uint64_t ticket;       // the receiver's operation
  std::uint64_t bytes;        // size of the message
  std::uint64_t acknowledge;  // the sender's operation, which waits until its chunks have arrived; 0: none does
  std::uint64_t error;        // an errc
};

struct withdraw_rtr_body {
  std::uint64_t ticket;  // the receiver's operation
};

struct withdraw_rts_body {
  std::uint64_t ticket;   // the sender's operation
  std::uint64_t is_send;  // whether the id is an engine
};

struct withdraw_answer_body {
  std::uint64_t ticket;    // the sender's operation
  std::uint64_t is_begun;  // whether the message is being received; else it has not arrived, or is complete
};

static_assert(std::is_trivially_copyable_v<rts_body> && sizeof(rts_body) == 32 && sizeof(copy_invitation_body) == 40);
static_assert(sizeof(chunks_failed_body) == 24);
static_assert(sizeof(fin_body) == 16 && sizeof(rtr_body) == 16 && sizeof(put_body) == 24);
static_assert(sizeof(put_rts_body) == 32 && sizeof(signal_body) == 24);
static_assert(sizeof(atomic_body) == 40 && sizeof(atomic_result_body) == 24);
static_assert(sizeof(ready_body) == 32 && sizeof(written_body) == 32 && sizeof(withdraw_rtr_body) == 8);
static_assert(sizeof(withdraw_rts_body) == 16 && sizeof(withdraw_answer_body) == 16);

}  // namespace weft::core
