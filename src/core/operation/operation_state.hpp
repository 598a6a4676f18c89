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
#include "core/message/payload.hpp"
#include "core/message/shared_copy.hpp"
#include "core/message/wire.hpp"
#include "core/operation/promise.hpp"
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
  try_match,        // receiver: another thread held the engine's lock; stays until the receive has matched
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
[[nodiscard]] constexpr bool is_answer(step at) noexcept {
  return at == step::send_fin || at == step::send_written || at == step::answer_atomic;
}

/// Which set an operation is from. Posts and arrivals have sets of their own, so that posts can't use up the operations
/// that answer peers: else two ranks that have posted all they may to each other would wait for ever. Receives that are
/// posted after their message has arrived have a set of their own, which waiting receives can't use up.
enum class operation_set : std::uint8_t { posts, arrivals, receives, late_receives };
inline constexpr std::size_t operation_sets = 4;

/// What was asked of the peer of an operation that is to be cancelled.
enum class back_request : std::uint8_t {
  none,
  wanted,   // it is to be asked
  asked,    // it has been asked, and has not answered
  refused,  // it was too late
};

struct engine_state;

/// A field that the operation's owner writes, and that other threads may read at any time: threads that end all
/// operations with a rank, cancel all of an object, or list them. They find the operation again by its ticket before
/// they act.
template <class T>
class listed_field {
 public:
  listed_field& operator=(T value) noexcept {
    // [operation.field] relaxed -> [operation.field_of]: no other thread acts on it before [operation.reach].
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  // [operation.field_of] relaxed <- [operation.field]: the same.
  operator T() const noexcept { return value_.load(std::memory_order_relaxed); }  // NOLINT: as the value itself

 private:
  std::atomic<T> value_{};
};

// The match node is the first line; what else a receive needs is in the next two.
struct alignas(detail::cache_line_bytes) operation_state : match_node {
  // The operation's number for its peer and for the user; 0 while the operation is free. The high half is the
  // generation; the low half has set and index + 1.
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<step> next{step::free};
  listed_field<operation> opcode;
  operation_set set = operation_set::posts;
  errc error = errc::none;
  bool copies_alone = false;    // receiver: the sender's help has failed
  bool acknowledge = false;     // FIN completes it, also after packets
  bool awaited = false;         // a flush waits for it
  bool done_when_sent = false;  // answers done once its first message is sent
  std::uint32_t generation = 0;
  listed_field<std::uint32_t> peer;  // rank
  std::uint32_t device = 0;          // of the peer's, for messages that continue the operation
  // Of a receive in a receiver-first engine: the sender's rank; read also by a thread that cancels it.
  std::atomic<std::uint32_t> announced_to{0};
  listed_field<std::uint64_t> tag;
  listed_field<completion*> target;
  void* context = nullptr;
  std::atomic<engine_state*> engine{nullptr};  // of a receive; read also by a thread that cancels it
  target_payload into;                         // the buffer of a receive or get, or the memory that a put writes
  std::uint64_t bytes = 0;
  std::uint64_t message_bytes = 0;      // of a receive: the size of the message that was sent
  std::atomic<std::uint64_t> moved{0};  // bytes copied so far; chunks may arrive on several devices
  operation_state* behind = nullptr;    // in a backlog
  source_payload source;                // the buffer of a send or put, or the memory that a get reads
  listed_field<std::uint32_t> id;       // of the completion, engine, or signal at the peer
  listed_field<std::uint32_t> kind;     // header::kind of the post
  std::uint32_t sequence = 0;           // in an ordered engine; of an atomic: operation and size
  // The last use of this operation whose peer was asked to give it up, as `operation_pool::request_of` has it.
  std::atomic<std::uint64_t> asked_back{0};
  detail::payload_owner* owner = nullptr;  // of an arriving message's buffer
  std::uint64_t remote_address = 0;
  listed_field<std::uint64_t> remote_ticket;
  copy_state* copy = nullptr;       // of a long message that both sides copy
  std::uint32_t copy_number = 0;    // of that copy
  std::byte* mapped = nullptr;      // the target's memory of a put or get, if it is mapped here
  std::uint64_t region = 0;         // the name of that region
  std::uint64_t region_offset = 0;  // of that memory in the region
  std::uint64_t operand = 0;        // of an atomic; of a send in a receiver-first engine: the error for the receiver
  std::uint64_t compare = 0;

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
    target = &object;
    promise::make(object);
  }
  /// The same where `promise::has_own_word(object)`.
  void will_signal_here(completion& object) noexcept {
    target = &object;
    promise::make_in_own_word(object);
  }
};

}  // namespace weft::core
