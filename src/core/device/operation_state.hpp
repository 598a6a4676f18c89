// A posted operation while it is under way, and the fixed sets of them that a runtime has.
//
// One thread at a time works on an operation: the posting thread until the first message is out or the operation waits
// in a matching engine, then the thread that handles the next message for it, then the device whose backlog it is in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/assertion.hpp"
#include "core/matching/match_node.hpp"
#include "core/memory/index_stack.hpp"
#include "core/message/payload.hpp"
#include "core/message/shared_copy.hpp"
#include "core/message/wire.hpp"
#include "weft/completion.hpp"
#include "weft/detail/laned_queue.hpp"

namespace weft::core {

/// What is to happen with an operation next; those from `post` on are done by the backlog.
enum class step : std::uint8_t {
  free = 0,
  wait_for_answer,  // the first message is out
  wait_for_chunks,  // receiver: the RTR is out
  wait_for_match,   // a receive lies in its engine; a send, in a receiver-first one
  wait_for_sender,  // a receive in a receiver-first engine has announced its buffer
  post,             // poster: the message found no room and may not answer retry
  match,            // receiver: the engine's place was taken by another thread; still so once it lies there
  transfer,         // origin: copy to or from the target's memory
  ask,              // origin: the message that asks the target found no room
  notify,           // origin: tell the target that its memory was written or read
  stream,           // sender: send the bytes in packets
  send_rtr,         // receiver: ask for packets
  fetch,            // receiver: copy from the sender's memory
  write_pieces,     // sender: write pieces of a message that both sides copy
  send_fin,         // receiver: tell the sender that its operation is complete
  ready,            // receiver, receiver first: the message that announces the buffer found no room
  write,            // sender, receiver first: send or copy into the receive's buffer
  send_written,     // sender, receiver first: tell the receiver what became of its buffer
  answer_atomic,    // target: send the old word
  signal,           // either: signal the completion object
};

/// Which set an operation is from. Apart, so that what is posted here can't take the place of what answers peers: two
/// ranks that have posted all they may to each other would wait for each other for ever. So are receives that come
/// after their message: receives that wait for others can't take their place.
enum class operation_set : std::uint8_t { posts, arrivals, receives, late_receives };
inline constexpr std::size_t operation_sets = 4;

struct engine_state;

// The node that waits is the first line; what a receive needs beside it is the next two.
struct alignas(detail::cache_line_bytes) operation_state : match_node {
  // Names the operation to its peer and to the user; 0 while it is free. Generation in the high half; set and index + 1
  // in the low one.
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<step> next{step::free};
  operation opcode = operation::none;
  operation_set set = operation_set::posts;
  errc error = errc::none;
  bool alone = false;        // receiver: the sender's help has failed
  bool acknowledge = false;  // FIN ends it, also after packets
  bool awaited = false;      // a flush waits for it
  bool leaves = false;       // answers done once its first message is out
  std::uint32_t generation = 0;
  std::uint32_t peer = 0;
  std::uint32_t device = 0;  // of the peer's, for messages that continue the operation
  // Of a receive in a receiver-first engine: the sender's rank; read also by a thread that cancels it.
  std::atomic<std::uint32_t> announced_to{0};
  std::uint64_t tag = 0;
  completion* target = nullptr;
  void* context = nullptr;
  std::atomic<engine_state*> engine{nullptr};  // of a receive; read also by a thread that cancels it
  target_payload into;                         // what is received, got, or written by a put
  std::uint64_t bytes = 0;
  std::uint64_t message_bytes = 0;         // of a receive: what was sent
  std::atomic<std::uint64_t> moved{0};     // bytes copied so far; chunks may arrive on several devices
  operation_state* behind = nullptr;       // in a backlog
  source_payload source;                   // what is sent, put, or read by a get
  std::uint32_t id = 0;                    // of the completion, engine, or signal at the peer
  std::uint32_t kind = 0;                  // header::kind of the post
  std::uint32_t sequence = 0;              // in an ordered engine; of an atomic: operation and size
  detail::payload_owner* owner = nullptr;  // of an arriving message's buffer
  std::uint64_t remote_address = 0;
  std::uint64_t remote_ticket = 0;
  copy_state* copy = nullptr;       // of a long message that both sides copy
  std::uint32_t copy_number = 0;    // of that copy
  std::byte* mapped = nullptr;      // the target's memory of a put or get, where it is mapped here
  std::uint64_t region = 0;         // its name
  std::uint64_t region_offset = 0;  // where it begins there
  std::uint64_t operand = 0;        // of an atomic; where the receiver is first, the error that it is told
  std::uint64_t compare = 0;

  /// The operation is all set for step `reached`, and may be found by its ticket there.
  void reach(step reached) noexcept {
    // [operation.reach] release -> [operation.at], [operation.lost], [operation.claim], [receive.put_off]: the
    // operation as it is at this step.
    WEFT_ASSERT_CHECKED(ticket.load(std::memory_order_relaxed) != 0);  // [own] one thread at a time works on it
    next.store(reached, std::memory_order_release);
  }

  /// The operation names `object` from now on, until its signal has begun. From then on a thread that sees the signal
  /// may destroy the object, whose destructor waits until it has ended.
  void will_signal(completion& object) noexcept {
    target = &object;
    promise_signal(object);
  }
  /// Whether `object` can be told so without a call; then `will_signal_here` may do it.
  [[nodiscard]] static bool is_counted_here(const completion& object) noexcept { return object.has_own_words(); }
  void will_signal_here(completion& object) noexcept {
    target = &object;
    completion::count_in_own_word(object.promised_);
  }
  static void promise_signal(completion& object) noexcept { object.count(object.promised_); }
  static void begin_signal(completion& object) noexcept { object.count(object.begun_); }
  static void end_signal(completion& object) noexcept { object.count(object.ended_); }
  /// A signal that has begun found no room: it comes later.
  static void put_off_signal(completion& object) noexcept {
    promise_signal(object);  // first, so that it is missing at no moment
    end_signal(object);
  }
  /// There will be none after all.
  static void take_back_signal(completion& object) noexcept {
    begin_signal(object);
    end_signal(object);
  }
  /// Signals that were promised and have not begun.
  [[nodiscard]] static std::uint32_t signals_to_come(const completion& object) noexcept {
    return object.promised_beyond(object.begun_);
  }
  /// Gives `record` to `object`, which was promised a signal and may be gone when this returns; false where it is full.
  [[nodiscard]] static bool give_signal(completion& object, completion_record& record) noexcept {
    begin_signal(object);
    const bool taken = object.signal(std::move(record)) == completion::answer::taken;
    if (taken) {
      end_signal(object);
    } else {
      put_off_signal(object);
    }
    return taken;
  }
  /// The queue that `object` is, if it is a bounded one: into that a record can be put together in place.
  [[nodiscard]] static detail::laned_queue<detail::raw_record>* queue_of(completion& object) noexcept {
    return object.queue_;
  }
  /// The count of the counter that `object` is, if it is one: that is all that a signal without error changes.
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
    out->leaves = false;
    out->source = {};
    out->into = {};
    out->message_bytes = 0;
    out->target = nullptr;
    out->context = nullptr;
    out->owner = nullptr;
    out->mapped = nullptr;
    return out;
  }

  /// The same for a receive: what receives set or never touch is what it was.
  [[nodiscard]] operation_state* try_get_unset() noexcept {
    const std::uint32_t index = free_.pop();
    return index == index_stack::none ? nullptr : &name(index);
  }

  /// Operations that a device keeps for itself, by index: taken and put back many at a time.
  [[nodiscard]] std::uint32_t take_many(std::uint32_t* out, std::uint32_t room) noexcept {
    return free_.pop_many(out, room);
  }
  void put_many(const std::uint32_t* indices, std::uint32_t count) noexcept { free_.push_many(indices, count); }
  /// One of those begins a new life.
  [[nodiscard]] [[gnu::always_inline]] operation_state& name(std::uint32_t index) noexcept {
    operation_state& out = operations_[index];
    out.error = errc::none;
    out.alone = false;
    // [operation.reset] relaxed: no other thread knows the operation yet.
    out.moved.store(0, std::memory_order_relaxed);
    // [operation.name] relaxed: a peer learns the ticket from a message that this precedes.
    out.ticket.store(
        std::uint64_t{++out.generation} << 32 | static_cast<std::uint64_t>(set_) << set_shift | (index + 1),
        std::memory_order_relaxed);
    return out;
  }

  /// One of those is through; its index.
  [[nodiscard]] [[gnu::always_inline]] std::uint32_t unname(operation_state& done) noexcept {
    // The ticket has it, so that nothing has to be divided.
    const std::uint64_t ticket = done.ticket.load(std::memory_order_relaxed);  // [own] the caller's alone
    WEFT_ASSERT_CHECKED(set_of(ticket) == static_cast<std::size_t>(set_) && (ticket & index_mask) - 1 < count_);
    done.reach(step::free);
    // [operation.unname] relaxed: late messages that still name it find another ticket.
    done.ticket.store(0, std::memory_order_relaxed);
    return static_cast<std::uint32_t>((ticket & index_mask) - 1);
  }

  void put(operation_state& done) noexcept { free_.push(unname(done)); }

  /// The operation that `peer` names by `ticket`, if it is under way with that peer and at step `expected`.
  [[nodiscard]] operation_state* find(std::uint64_t ticket, std::uint32_t peer, step expected) noexcept {
    operation_state* const found = find(ticket, expected);
    return found != nullptr && found->peer == peer ? found : nullptr;
  }

  /// The operation called `ticket`, if it is under way and at step `expected`.
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
  void each(const Visit& visit) noexcept {
    for (std::uint32_t index = 0; index < count_; ++index) {
      // [hint] what is named or through meanwhile is not asked for.
      if (operations_[index].ticket.load(std::memory_order_relaxed) != 0) visit(operations_[index]);
    }
  }

  /// What a message of an operation carries as its note: the low half of the ticket.
  [[nodiscard]] static constexpr std::uint32_t note_of(std::uint64_t ticket) noexcept {
    return static_cast<std::uint32_t>(ticket);
  }
  /// The operation whose message with this note was lost, if it waits for the answer. Several of its messages may be
  /// lost, and told of by several threads: one of them gets it.
  [[nodiscard]] operation_state* claim(std::uint32_t note, std::uint32_t peer) noexcept {
    const std::uint64_t index = (note & index_mask) - 1;
    if (index >= count_) return nullptr;
    operation_state& found = operations_[index];
    // [operation.lost] acquire <- [operation.reach]: the operation as it waits.
    step waits = found.next.load(std::memory_order_acquire);
    const bool is_waiting =
        waits == step::wait_for_answer || waits == step::wait_for_chunks || waits == step::wait_for_sender;
    if (!is_waiting || found.peer != peer) return nullptr;
    // [operation.claim] acquire <- [operation.reach]: the same; another thread that is told of a loss finds it gone.
    return found.next.compare_exchange_strong(waits, step::signal, std::memory_order_acquire, std::memory_order_relaxed)
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

  /// The set that a ticket says it is from; `operation_sets` or more where it can't be.
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
