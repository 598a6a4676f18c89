// SPDX-License-Identifier: BSD-3-Clause
// A set of operations, taken and put back without a lock, which grows unless its count is set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assertion.hpp"
#include "core/memory/slab_pool.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core {

class operation_pool {
 public:
  operation_pool(operation_set set, const pool_bounds& bounds, state_budget& budget)
      : elements_{bounds, budget}, budget_{&budget}, set_{set} {}

  /// A fresh operation with a ticket of its own, or null.
  [[nodiscard]] operation_state* try_get() noexcept {
    operation_state* const out = try_get_unset();
    if (out == nullptr) return nullptr;
    out->copying.acknowledge = false;
    out->copying.is_counted = false;
    out->sending.lacks_credit = false;
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

  /// Takes one for a receive: fields that receives set themselves, or do not use, keep their old values.
  [[nodiscard]] operation_state* try_get_unset() noexcept {
    pool_end why = pool_end::none;
    operation_state* const out = elements_.try_take(why);
    if (out == nullptr) [[unlikely]] {
      budget_->log_full(name_of_set(), why);
      return nullptr;
    }
    return &name(*out);
  }

  /// Takes up to `room` operations for a device to keep, without naming them.
  [[nodiscard]] std::uint32_t take_many(operation_state** out, std::uint32_t room) noexcept {
    pool_end why = pool_end::none;
    const std::uint32_t count = elements_.take_many(out, room, why);
    if (count == 0) [[unlikely]]
      budget_->log_full(name_of_set(), why);
    return count;
  }
  void put_many(operation_state* const* unnamed, std::uint32_t count) noexcept { elements_.put_many(unnamed, count); }
  /// Begins to use an operation of `take_many`: gives it a new ticket.
  [[nodiscard]] [[gnu::always_inline]] operation_state& name(operation_state& out) noexcept {
    out.error = errc::none;
    out.copying.is_alone = false;
    // [operation.reset] relaxed: no other thread knows the operation yet.
    out.copying.moved.store(0, std::memory_order_relaxed);
    // [operation.name] release -> [operation.listed]: the end of the use before. A peer learns the ticket from a
    // message that this precedes.
    out.ticket.store(std::uint64_t{++out.pooled.generation} << 32 |
                         static_cast<std::uint64_t>(set_) << operation_set_shift | (out.pooled.index + 1),
                     std::memory_order_release);
    return out;
  }

  /// Ends the use of an operation, which the caller keeps for `name`, or puts back by `put_many`.
  [[gnu::always_inline]] void unname(operation_state& done) noexcept {
    WEFT_ASSERT_CHECKED(is_own(done.ticket.load(std::memory_order_relaxed), done));  // [own] only the caller uses it
    done.reach(step::free);
    // [operation.unname] relaxed: late messages that still name it find another ticket.
    done.ticket.store(0, std::memory_order_relaxed);
  }

  void put(operation_state& done) noexcept {
    unname(done);
    elements_.put(done);
  }
  /// No operation is free any more. In a child of fork().
  void use_up() noexcept { elements_.close_for_ever(); }

  /// The operation that `peer` names by `ticket`, if it is under way with that peer and at step `expected`.
  [[nodiscard]] operation_state* find(std::uint64_t ticket, std::uint32_t peer, step expected) noexcept {
    operation_state* const found = find(ticket, expected);
    return found != nullptr && found->peer == peer ? found : nullptr;
  }

  /// The operation with this ticket, if it is under way and at step `expected`.
  [[nodiscard]] operation_state* find(std::uint64_t ticket, step expected) noexcept {
    operation_state* const found = elements_.find((ticket & index_mask) - 1);
    if (found == nullptr || static_cast<std::size_t>(set_) != set_of(ticket)) return nullptr;
    // [operation.find] relaxed: the message that names it has carried everything else here.
    if (found->ticket.load(std::memory_order_relaxed) != ticket) return nullptr;
    // [operation.at] acquire <- [operation.reach]: what the operation was when it reached this step.
    return found->next.load(std::memory_order_acquire) == expected ? found : nullptr;
  }

  /// Visits the operations under way; may miss operations that begin or end meanwhile.
  template <class Visit>
  void each(const Visit& visit) {
    elements_.each([&](operation_state& each) {
      if (each.ticket.load(std::memory_order_relaxed) != 0) visit(each);  // [hint] see above
    });
  }

  /// Visits at most `most` operations from `index` on, which is then that of the next one. **Returns** at how
  /// many it has looked.
  template <class Visit>
  std::uint64_t each_from(std::uint32_t& index, std::uint64_t most, const Visit& visit) {
    std::uint64_t looked = 0;
    for (; looked < most && index < elements_.count(); ++looked, ++index) {
      operation_state* const each = elements_.find(index);
      if (each != nullptr && each->ticket.load(std::memory_order_relaxed) != 0) visit(*each);  // [hint] see above
    }
    return looked;
  }

  /// A request for the use of an operation that has this ticket.
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
    operation_state* const found = elements_.find((note & index_mask) - 1);
    if (found == nullptr) return nullptr;
    // [operation.lost] acquire <- [operation.reach]: the operation as it waits.
    step waits = found->next.load(std::memory_order_acquire);
    const bool is_waiting =
        waits == step::wait_for_answer || waits == step::wait_for_chunks || waits == step::wait_for_sender;
    if (!is_waiting || found->peer != peer) return nullptr;
    // [operation.claim] acquire <- [operation.reach]: the operation as it waits; only one thread's exchange succeeds.
    return found->next.compare_exchange_strong(waits, step::try_signal, std::memory_order_acquire,
                                               std::memory_order_relaxed)
               ? found
               : nullptr;
  }

  /// How many there are, free or under way.
  [[nodiscard]] std::uint32_t count() const noexcept { return elements_.count(); }

  /// Whether each operation is either free, once, or under way. Takes all free ones: for the end.
  [[nodiscard]] bool is_consistent() noexcept {
    std::uint32_t counted = 0;
    each([&](const operation_state&) { ++counted; });
    const std::uint32_t all = count();
    elements_.take_all_free([&](const operation_state& free) {
      // [own] no other thread uses the pool.
      const bool is_free = free.ticket.load(std::memory_order_relaxed) == 0;
      counted += is_free && counted <= all ? 1 : all + 1;
      return counted <= all;
    });
    return counted == all;
  }

  /// The set in a ticket; `operation_sets` or more if the ticket is invalid.
  [[nodiscard]] static constexpr std::size_t set_of(std::uint64_t ticket) noexcept {
    return static_cast<std::size_t>(set_in(ticket));
  }

 private:
  static constexpr std::uint64_t index_mask = (std::uint64_t{1} << operation_set_shift) - 1;

  [[nodiscard]] bool is_own(std::uint64_t ticket, const operation_state& named) const noexcept {
    return set_of(ticket) == static_cast<std::size_t>(set_) && (ticket & index_mask) == named.pooled.index + 1;
  }
  [[nodiscard]] const char* name_of_set() const noexcept {
    switch (set_) {
      case operation_set::posts: return "posts";
      case operation_set::arrivals: return "long messages that arrive";
      case operation_set::receives: return "receives";
      case operation_set::late_receives: break;
    }
    return "receives whose message is here";
  }

  slab_pool<operation_state> elements_;
  state_budget* budget_;
  operation_set set_;
};

}  // namespace weft::core
