// A fixed set of operations, taken and put back without a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assertion.hpp"
#include "core/memory/index_stack.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core {

class operation_pool {
 public:
  operation_pool(operation_set set, std::uint32_t count)
      : operations_{std::make_unique<operation_state[]>(count)}, set_{set}, count_{count}, free_{count} {
    for (std::uint32_t index = count; index > 0; --index) {
      free_.push(index - 1);
    }
  }

  /// A fresh operation with a ticket of its own, or null.
  [[nodiscard]] operation_state* try_get() noexcept {
    operation_state* const out = try_get_unset();
    if (out == nullptr) return nullptr;
    out->copying.acknowledge = false;
    out->sending.is_awaited = false;
    out->sending.done_when_sent = false;
    out->sending.source = {};
    out->receiving.into = {};
    out->receiving.message_bytes = 0;
    out->owed.target = nullptr;
    out->owed.context = nullptr;
    out->receiving.owner = nullptr;
    out->transfer.mapped = nullptr;
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
    WEFT_ASSERT_CHECKED(index < count_);
    operation_state& out = operations_[index];
    out.error = errc::none;
    out.copying.is_alone = false;
    // [operation.reset] relaxed: no other thread knows the operation yet.
    out.copying.moved.store(0, std::memory_order_relaxed);
    // [operation.name] release -> [operation.listed]: the end of the use before. A peer learns the ticket from a
    // message that this precedes.
    out.ticket.store(
        std::uint64_t{++out.generation} << 32 | static_cast<std::uint64_t>(set_) << operation_set_shift | (index + 1),
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
    return static_cast<std::size_t>(set_in(ticket));
  }

 private:
  static constexpr std::uint64_t index_mask = (std::uint64_t{1} << operation_set_shift) - 1;

  std::unique_ptr<operation_state[]> operations_;
  operation_set set_;
  std::uint32_t count_;
  index_stack free_;
};

}  // namespace weft::core
