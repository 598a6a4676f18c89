// A posted operation while it is under way, and the fixed set of them that a runtime has.
//
// One thread at a time works on an operation: the poster until its first message is out, then whoever handles the
// message that continues it, then the device whose backlog it is in.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/index_stack.hpp"
#include "weft/completion.hpp"

namespace weft::core {

/// What is to happen with an operation next; those from `post` on are done by the backlog.
enum class step : std::uint8_t {
  free = 0,
  wait_for_answer,  // sender: the offer is out
  wait_for_chunks,  // receiver: the copy request is out
  post,             // poster: the post found no room and may not answer retry
  stream,           // sender: send the bytes in packets
  request_copy,     // receiver: ask for packets
  fetch,            // receiver: copy from the sender's memory
  announce,         // receiver: tell the sender that its buffer is free
  signal,           // either: signal the completion object
};

struct operation_state {
  // Names the operation to its peer; 0 while it is free. Generation in the high half, index + 1 in the low one.
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<step> next{step::free};
  errc error = errc::none;
  bool is_arrival = false;  // a message that arrives here, not a post
  std::uint32_t generation = 0;
  std::uint32_t peer = 0;
  std::uint32_t device = 0;  // of the peer's, for messages that continue the operation
  std::uint32_t id = 0;
  std::uint64_t tag = 0;
  std::byte* buffer = nullptr;
  std::uint64_t bytes = 0;
  std::atomic<std::uint64_t> moved{0};  // bytes copied so far; chunks may arrive on several devices
  std::uint64_t remote_address = 0;
  std::uint64_t remote_ticket = 0;
  completion* target = nullptr;
  void* context = nullptr;
  detail::payload_owner* owner = nullptr;  // of an arriving message's buffer
  operation_state* behind = nullptr;       // in a backlog

  /// The operation is all set for step `reached`, and may be found by its ticket there.
  void reach(step reached) noexcept {
    // [operation.reach] release -> [operation.at]: the operation as it is at this step.
    next.store(reached, std::memory_order_release);
  }

  /// The operation names `object` from now on, until `signalled`.
  void will_signal(completion& object) noexcept {
    target = &object;
    object.outstanding_.fetch_add(1, std::memory_order_relaxed);  // [stat] checked when the object goes
  }
  void signalled(completion& object) noexcept {
    object.outstanding_.fetch_sub(1, std::memory_order_relaxed);  // [stat]
  }
};

class operation_pool {
 public:
  explicit operation_pool(std::uint32_t count)
      : operations_{std::make_unique<operation_state[]>(count)}, count_{count}, free_{count} {
    for (std::uint32_t index = count; index > 0; --index) free_.push(index - 1);
  }

  /// A fresh operation with a ticket of its own, or null.
  [[nodiscard]] operation_state* try_get() noexcept {
    const std::uint32_t index = free_.pop();
    if (index == index_stack::none) return nullptr;
    operation_state& out = operations_[index];
    out.error = errc::none;
    out.is_arrival = false;
    // [operation.reset] relaxed: nobody else knows the operation yet.
    out.moved.store(0, std::memory_order_relaxed);
    ++out.generation;
    // [operation.name] relaxed: a peer learns the ticket from a message that this precedes.
    out.ticket.store(std::uint64_t{out.generation} << 32 | (index + 1), std::memory_order_relaxed);
    return &out;
  }

  void put(operation_state& done) noexcept {
    done.reach(step::free);
    // [operation.unname] relaxed: late messages that still name it find another ticket.
    done.ticket.store(0, std::memory_order_relaxed);
    free_.push(static_cast<std::uint32_t>(&done - operations_.get()));
  }

  /// The operation that `peer` names by `ticket`, if it is under way with that peer and at step `expected`.
  [[nodiscard]] operation_state* find(std::uint64_t ticket, std::uint32_t peer, step expected) noexcept {
    const std::uint64_t index = (ticket & 0xffff'ffff) - 1;
    if (index >= count_) return nullptr;
    operation_state& found = operations_[index];
    // [operation.find] relaxed: the message that names it has carried everything else here.
    if (found.ticket.load(std::memory_order_relaxed) != ticket) return nullptr;
    // [operation.at] acquire <- [operation.reach]: what the operation was when it reached this step.
    if (found.next.load(std::memory_order_acquire) != expected || found.peer != peer) return nullptr;
    return &found;
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  std::unique_ptr<operation_state[]> operations_;
  std::uint32_t count_;
  index_stack free_;
};

}  // namespace weft::core
