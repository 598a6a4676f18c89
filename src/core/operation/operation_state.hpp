// A posted operation while it is under way, and the fixed sets of them that a runtime has.
//
// One thread at a time works on an operation: the posting thread until the first message is sent or the operation waits
// in a matching engine; then the thread that handles the next message for it, or that polls the device whose backlog it
// is in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/assertion.hpp"
#include "base/callback_scope.hpp"
#include "core/operation/running_callback.hpp"
#include "core/matching/match_node.hpp"
#include "core/memory/index_stack.hpp"
#include "core/message/payload.hpp"
#include "core/message/shared_copy.hpp"
#include "core/message/wire.hpp"
#include "weft/completion.hpp"
#include "weft/detail/laned_queue.hpp"

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

  /// The operation refers to `object` until its signal has begun. After that, a thread that sees the signal may destroy
  /// the object; the destructor waits until the signal has ended.
  void will_signal(completion& object) noexcept {
    target = &object;
    promise_signal(object);
  }
  /// Whether the promise can be counted without a function call; then `will_signal_here` may be used.
  [[nodiscard]] static bool is_counted_here(const completion& object) noexcept { return object.has_own_words(); }
  void will_signal_here(completion& object) noexcept {
    target = &object;
    completion::count_in_own_word(object.promised_);
  }
  static void promise_signal(completion& object) noexcept { object.count(object.promised_); }
  static void begin_signal(completion& object) noexcept { object.count(object.begun_); }
  static void end_signal(completion& object) noexcept { object.count(object.ended_); }
  /// There was no room for a signal that has begun: it comes later.
  static void defer_signal(completion& object) noexcept {
    promise_signal(object);  // first, so that it is missing at no moment
    end_signal(object);
  }
  /// The signal that the calling thread has promised will not come.
  static void cancel_signal(completion& object) noexcept { object.count_back(object.promised_); }
  /// Changes where the calling thread has promised a signal and has not cancelled it. Beyond the first threads it
  /// changes with the promises of other such threads, too.
  [[nodiscard]] static std::uint32_t promised_here(const completion& object) noexcept {
    const std::uint32_t slot = detail::this_thread_slot();
    const auto& word = slot < object.promised_.by.size() ? object.promised_.by[slot] : object.promised_.by_others;
    return word.load(std::memory_order_relaxed);  // [own]
  }
  /// Signals that were promised and have not begun.
  [[nodiscard]] static std::uint32_t signals_to_come(const completion& object) noexcept {
    return object.promised_beyond(object.begun_);
  }
  /// Gives `record` to `object`, which was promised a signal, on behalf of device `by`. False if it is full, or if
  /// callbacks nest too deep for one more: then a call of progress gives it later. When this returns, the object may
  /// have been destroyed.
  [[nodiscard]] static bool give_signal(device_state& by, completion& object, completion_record& record) noexcept {
    if (base::callback_scope::is_too_deep()) [[unlikely]]
      return false;
    begin_signal(object);
    const bool taken = call_signal(by, object, record);
    if (taken) {
      end_signal(object);
    } else {
      defer_signal(object);
    }
    return taken;
  }
  /// Whether `object` has taken `record`.
  [[nodiscard]] static bool call_signal(device_state& by, completion& object, completion_record& record) noexcept {
    const base::callback_scope object_runs;
    const running_callback by_device{by};
    return object.signal(std::move(record)) == completion::answer::taken;
  }
  /// The queue of `object`, if it is a bounded completion queue: a record can be written into it in place. Else null.
  [[nodiscard]] static detail::laned_queue<detail::raw_record>* queue_of(completion& object) noexcept {
    return object.queue_;
  }
  /// The count of `object`, if it is a counter: a signal without error changes nothing else. Else null.
  [[nodiscard]] static std::atomic<std::uint64_t>* count_of(completion& object) noexcept { return object.count_; }
};

class operation_pool {
 public:
  operation_pool(operation_set set, std::uint32_t count)
      : operations_{std::make_unique<operation_state[]>(count)}, set_{set}, count_{count}, free_{count} {
    for (std::uint32_t index = count; index > 0; --index) {
      operations_[index - 1].set = set;
      free_.push(index - 1);
    }
  }

  /// A fresh operation with a ticket of its own, or null.
  [[nodiscard]] operation_state* try_get() noexcept {
    operation_state* const out = try_get_unset();
    if (out == nullptr) return nullptr;
    out->acknowledge = false;
    out->awaited = false;
    out->done_when_sent = false;
    out->source = {};
    out->into = {};
    out->message_bytes = 0;
    out->target = nullptr;
    out->context = nullptr;
    out->owner = nullptr;
    out->mapped = nullptr;
    return out;
  }

  /// The same for a receive: fields that receives set themselves, or do not use, keep their old values.
  [[nodiscard]] operation_state* try_get_unset() noexcept {
    const std::uint32_t index = free_.pop();
    return index == index_stack::none ? nullptr : &name(index);
  }

  /// Takes up to `room` operations for a device to keep, by index, without naming them.
  [[nodiscard]] std::uint32_t take_many(std::uint32_t* out, std::uint32_t room) noexcept {
    return free_.pop_many(out, room);
  }
  void put_many(const std::uint32_t* indices, std::uint32_t count) noexcept { free_.push_many(indices, count); }
  /// Begins to use an operation that was taken by index: gives it a new ticket.
  [[nodiscard]] [[gnu::always_inline]] operation_state& name(std::uint32_t index) noexcept {
    operation_state& out = operations_[index];
    out.error = errc::none;
    out.copies_alone = false;
    // [operation.reset] relaxed: no other thread knows the operation yet.
    out.moved.store(0, std::memory_order_relaxed);
    // [operation.name] release -> [operation.listed]: the end of the use before. A peer learns the ticket from a
    // message that this precedes.
    out.ticket.store(
        std::uint64_t{++out.generation} << 32 | static_cast<std::uint64_t>(set_) << set_shift | (index + 1),
        std::memory_order_release);
    return out;
  }

  /// Ends the use of an operation, and returns its index.
  [[nodiscard]] [[gnu::always_inline]] std::uint32_t unname(operation_state& done) noexcept {
    // The ticket has the index, so no division is needed.
    const std::uint64_t ticket = done.ticket.load(std::memory_order_relaxed);  // [own] only the caller uses it
    WEFT_ASSERT_CHECKED(set_of(ticket) == static_cast<std::size_t>(set_) && (ticket & index_mask) - 1 < count_);
    done.reach(step::free);
    // [operation.unname] relaxed: late messages that still name it find another ticket.
    done.ticket.store(0, std::memory_order_relaxed);
    return static_cast<std::uint32_t>((ticket & index_mask) - 1);
  }

  void put(operation_state& done) noexcept { free_.push(unname(done)); }
  /// No operation is free any more. In a child of fork().
  void use_up() noexcept { free_.clear(); }

  /// The operation that `peer` names by `ticket`, if it is under way with that peer and at step `expected`.
  [[nodiscard]] operation_state* find(std::uint64_t ticket, std::uint32_t peer, step expected) noexcept {
    operation_state* const found = find(ticket, expected);
    return found != nullptr && found->peer == peer ? found : nullptr;
  }

  /// The operation with this ticket, if it is under way and at step `expected`.
  [[nodiscard]] operation_state* find(std::uint64_t ticket, step expected) noexcept {
    const std::uint64_t index = (ticket & index_mask) - 1;
    if (index >= count_) return nullptr;
    operation_state& found = operations_[index];
    if (static_cast<std::size_t>(set_) != set_of(ticket)) return nullptr;
    // [operation.find] relaxed: the message that names it has carried everything else here.
    if (found.ticket.load(std::memory_order_relaxed) != ticket) return nullptr;
    // [operation.at] acquire <- [operation.reach]: what the operation was when it reached this step.
    return found.next.load(std::memory_order_acquire) == expected ? &found : nullptr;
  }

  /// Visits the operations under way, for reports and checks while no other thread uses the set.
  template <class Visit>
  void each(const Visit& visit) {
    for (std::uint32_t index = 0; index < count_; ++index) {
      // [hint] operations that begin or end meanwhile may be missed.
      if (operations_[index].ticket.load(std::memory_order_relaxed) != 0) visit(operations_[index]);
    }
  }

  /// A request for the use of an operation that has this ticket. Later uses, and later states, have larger numbers.
  [[nodiscard]] static constexpr std::uint64_t request_of(std::uint64_t ticket, back_request state) noexcept {
    return ticket >> 32 << 32 | static_cast<std::uint64_t>(state);
  }
  /// The note of an operation's message: the low half of the ticket.
  [[nodiscard]] static constexpr std::uint32_t note_of(std::uint64_t ticket) noexcept {
    return static_cast<std::uint32_t>(ticket);
  }
  /// The operation whose message with this note was lost, if it waits for the answer. Several of its messages may be
  /// lost, and several threads may report that: one of them gets the operation, the others null.
  [[nodiscard]] operation_state* claim(std::uint32_t note, std::uint32_t peer) noexcept {
    const std::uint64_t index = (note & index_mask) - 1;
    if (index >= count_) return nullptr;
    operation_state& found = operations_[index];
    // [operation.lost] acquire <- [operation.reach]: the operation as it waits.
    step waits = found.next.load(std::memory_order_acquire);
    const bool is_waiting =
        waits == step::wait_for_answer || waits == step::wait_for_chunks || waits == step::wait_for_sender;
    if (!is_waiting || found.peer != peer) return nullptr;
    // [operation.claim] acquire <- [operation.reach]: the operation as it waits; only one thread's exchange succeeds.
    return found.next.compare_exchange_strong(waits, step::try_signal, std::memory_order_acquire,
                                              std::memory_order_relaxed)
               ? &found
               : nullptr;
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  /// Whether each operation is either free, once, or under way. Takes all free ones: for the end.
  [[nodiscard]] bool is_consistent() noexcept {
    std::uint32_t counted = 0;
    each([&](const operation_state&) { ++counted; });
    for (std::uint32_t index = free_.pop(); index != index_stack::none; index = free_.pop()) {
      // [own] no other thread uses the pool.
      const bool is_free = index < count_ && operations_[index].ticket.load(std::memory_order_relaxed) == 0;
      if (!is_free || ++counted > count_) return false;
    }
    return counted == count_;
  }

  /// The set in a ticket; `operation_sets` or more if the ticket is invalid.
  [[nodiscard]] static constexpr std::size_t set_of(std::uint64_t ticket) noexcept {
    return (ticket & 0xffff'ffff) >> set_shift;
  }

 private:
  static constexpr unsigned set_shift = 28;
  static constexpr std::uint64_t index_mask = (std::uint64_t{1} << set_shift) - 1;

  std::unique_ptr<operation_state[]> operations_;
  operation_set set_;
  std::uint32_t count_;
  index_stack free_;
};

}  // namespace weft::core
