// SPDX-License-Identifier: BSD-3-Clause
// A posted operation while it is under way.
//
// One thread at a time works on an operation: the posting thread until the first message is sent or the operation waits
// in a matching engine; then the thread that handles the next message for it, or that polls the device whose backlog it
// is in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/assertion.hpp"
#include "core/matching/match_node.hpp"
#include "core/memory/slab_pool.hpp"
#include "core/message/wire.hpp"
#include "core/operation/answer_part.hpp"
#include "core/operation/copy_part.hpp"
#include "core/operation/listed_field.hpp"
#include "core/operation/post_part.hpp"
#include "core/operation/promise.hpp"
#include "core/operation/receive_part.hpp"
#include "core/operation/transfer_part.hpp"
#include "weft/completion.hpp"

namespace weft::core {

/// The next step of an operation; the backlog does the steps from `post_again` on: the function of a step has its name.
enum class step : std::uint8_t {
  free = 0,
  wait_for_answer,  // the first message is sent
  wait_for_chunks,  // receiver: the RTR is sent
  wait_for_match,   // a receive is in its engine; in a receiver-first one, a send
  wait_for_sender,  // a receive in a receiver-first engine has announced its buffer
  post_again,       // poster: there was no room for the message, and the post may not answer retry
  try_match,        // receiver: another thread held the bucket's lock; stays until the receive has matched
  transfer,         // origin: copy to or from the target's memory
  ask,              // origin: there was no room for the message that asks the target
  notify,           // origin: tell the target that its memory was written or read
  stream,           // sender: send the bytes in packets
  send_rtr,         // receiver: ask for packets
  fetch,            // receiver: copy from the sender's memory
  write_pieces,     // sender: write pieces of a message that both sides copy
  send_fin,         // receiver: tell the sender that its operation is complete
  send_ready,       // receiver, receiver-first: there was no room for the message that announces the buffer
  write,            // sender, receiver-first: send or copy into the receive's buffer
  send_written,     // sender, receiver-first: tell the receiver whether its buffer was written
  answer_atomic,    // target: send the old word
  answer_withdraw,  // target: tell the sender that its RTS is not here
  try_signal,       // either: signal the completion object
  try_entries,      // no operation: all that a device tries again without one (retry_list)
};

/// Whether all that is left to do is to send the message that completes the operation at the peer.
[[nodiscard]] constexpr bool is_answer(step current) noexcept {
  return current == step::send_fin || current == step::send_written || current == step::answer_atomic;
}

/// Which set an operation is from. Posts and arrivals have sets of their own, so that posts can't use up the operations
/// that answer peers: else two ranks that have posted all they may to each other would wait for ever. Receives that are
/// posted after their message has arrived have a set of their own, which waiting receives can't use up.
enum class operation_set : std::uint8_t { posts, arrivals, receives, late_receives };
inline constexpr std::size_t operation_sets = 4;

/// What its set keeps in an operation.
struct pool_part : core::pooled {
  std::uint32_t generation = 0;  // how many uses it has had
};

// Parts of a ticket.
inline constexpr unsigned operation_set_shift = 28;
[[nodiscard]] constexpr operation_set set_in(std::uint64_t ticket) noexcept {
  return static_cast<operation_set>((ticket & 0xffff'ffff) >> operation_set_shift);
}

/// What was asked of the peer of an operation that is to be cancelled.
enum class back_request : std::uint8_t {
  none,
  wanted,   // it is to be asked
  asked,    // it has been asked, and has not answered
  refused,  // it was too late
};

/// What every operation has, and the parts that only some have. The match node is the first line; what a short receive
/// needs is in the next two.
struct alignas(detail::cache_line_bytes) operation_state : match_node {
  // The operation's number for its peer and for the user; 0 while the operation is free. The high half is the
  // generation; the low half has set and index + 1.
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<step> next{step::free};
  listed_field<operation> opcode;
  errc error = errc::none;
  pool_part pooled;
  listed_field<std::uint32_t> peer;  // rank
  std::uint32_t device = 0;          // index at the peer, for messages that continue the operation
  listed_field<std::uint64_t> tag;
  owed_signal owed;
  receive_part receiving;
  copy_part copying;
  std::uint64_t bytes = 0;
  operation_state* behind = nullptr;  // next in a backlog
  post_part sending;
  transfer_part transfer;
  answer_part answering;

  /// The operation is ready for step `reached`: other threads may now find it by its ticket at this step.
  void reach(step reached) noexcept {
    // [operation.reach] release -> [operation.at], [operation.lost], [operation.claim], [receive.put_off],
    // and [ended.at], [ended.posted], [operation.listed_at]: the operation as it is at this step.
    WEFT_ASSERT_CHECKED(ticket.load(std::memory_order_relaxed) != 0);  // [own] one thread at a time works on it
    next.store(reached, std::memory_order_release);
  }

  /// The operation owes `object` a signal, and refers to it until that has begun. After that, a thread that sees the
  /// signal may destroy the object; the destructor waits until the signal has ended.
  void will_signal(completion& object) noexcept {
    owed.target = &object;
    promise::make(object);
  }
  /// Does so where `promise::has_own_word(object)`.
  void will_signal_here(completion& object) noexcept {
    owed.target = &object;
    promise::make_in_own_word(object);
  }
  /// The set that it is from, while it is under way.
  [[nodiscard]] operation_set set() const noexcept {
    return set_in(ticket.load(std::memory_order_relaxed));  // [hint] the same in all tickets that it ever has
  }
};

static_assert(sizeof(match_node) == detail::cache_line_bytes);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // its base has fields, too: both compilers lay that out alike
static_assert(offsetof(operation_state, receiving.owner) < 3 * detail::cache_line_bytes &&
                  offsetof(operation_state, copying.moved) < 3 * detail::cache_line_bytes,
              "a short receive touches the match node and two lines");
#pragma GCC diagnostic pop
static_assert(sizeof(operation_state) <= 6 * detail::cache_line_bytes);

}  // namespace weft::core
