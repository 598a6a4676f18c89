// SPDX-License-Identifier: BSD-3-Clause
// Cancels an operation that waits in a matching engine here. If a peer matches it, asks that peer to give it back
// (receiver_first.cpp, withdraw_rts.cpp).
#include "core/protocol/cancel.hpp"

#include "base/misuse.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/receiver_first.hpp"
#include "core/protocol/withdraw_rts.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::cancel {

namespace {

// Whether an operation with this ticket is posted and at step `expected`. Operations that answer peers are not posted.
operation_state* find(device_state& dev, std::uint64_t ticket, step expected) noexcept {
  operations& all = dev.operations();
  operation_state* const receive = all.receives().find(ticket, expected);
  return receive != nullptr ? receive : all.posts().find(ticket, expected);
}

// Takes a receive, or a send to a receiver-first engine, out of its engine. If it does not wait in one, `waiting` is
// null.
// `released`: messages that were matched meanwhile.
match_result take_out(device_state& dev, std::uint64_t ticket, operation_state*& waiting,
                      matched_messages& released) noexcept {
  waiting = find(dev, ticket, step::wait_for_match);
  const bool was_put_off = waiting == nullptr;
  if (was_put_off) waiting = find(dev, ticket, step::try_match);
  if (waiting == nullptr) return match_result::none;
  // An operation keeps its ticket while it waits in an engine, so this answer is certain under the engine's lock.
  const auto is_meant = [&](const match_node& node) {
    // [operation.meant] relaxed: the engine's lock orders it.
    return static_cast<const operation_state&>(node).ticket.load(std::memory_order_relaxed) == ticket;
  };
  // [receive.cancel] relaxed: `is_meant` checks under the lock that it is still this operation. The engine can't have
  // been destroyed, as this thread is a brief reader.
  const engine_state& engine = *waiting->receiving.engine.load(std::memory_order_relaxed);
  const match_result result = engine.is_ordered() ? engine.ordered->remove(*waiting, is_meant, released)
                                                  : dev.matching().table().remove(*waiting, is_meant);
  // A receive that was put off may still be in the backlog, or be matched at this moment.
  return result == match_result::none && was_put_off ? match_result::busy : result;
}

// Ends an operation that has been taken out.
void end(device_state& dev, operation_state& taken, bool is_told) noexcept {
  if (!is_told) {
    completion& object = *taken.owed.target;
    complete::put_back(dev, taken);
    promise::begin(object);
    promise::end(object);
    return;
  }
  taken.error = errc::cancelled;
  if (taken.opcode == operation::receive) taken.receiving.into = {};
  taken.receiving.message_bytes = 0;
  complete::signal_or_defer(dev, taken);
}

cancel_answer single(device_state& dev, std::uint64_t ticket, bool is_told) noexcept {
  operation_state* waiting = nullptr;
  cancel_answer asked = cancel_answer::too_late;
  matched_messages released;
  const match_result result = dev.matching().engines().readers().read([&] {
    const match_result taken = take_out(dev, ticket, waiting, released);
    if (waiting == nullptr) asked = receiver_first::ask_back(dev, ticket);
    if (waiting == nullptr && asked == cancel_answer::too_late) asked = withdraw_rts::ask(dev, ticket);
    return taken;
  });
  arrive_send::deliver_all(dev, released);
  if (waiting == nullptr) return asked;
  if (result == match_result::busy) return cancel_answer::busy;
  if (result != match_result::removed) return cancel_answer::too_late;
  end(dev, *waiting, is_told);
  return cancel_answer::cancelled;
}

// Calls `visit(operation, ticket)` for the operations of a group that are posted.
template <class Visit>
void each_of(device_state& dev, const group& which, const Visit& visit) {
  const auto visit_if_meant = [&](const operation_state& each) {
    // [operation.listed] acquire <- [operation.name]: fields that are read after it are no older than this use.
    const std::uint64_t ticket = each.ticket.load(std::memory_order_acquire);
    // [operation.listed_at] acquire <- [operation.reach]: the operation's target and engine. If it is another operation
    // by now, no operation has this ticket.
    if (each.next.load(std::memory_order_acquire) == step::free) return;
    if (which.target != nullptr && each.owed.target != which.target) return;
    // [operation.listed_in] relaxed: published by the step.
    if (which.engine != nullptr && each.receiving.engine.load(std::memory_order_relaxed) != which.engine) return;
    visit(each, ticket);
  };
  dev.operations().receives().each(visit_if_meant);
  dev.operations().posts().each(visit_if_meant);
}

}  // namespace

cancel_answer single(device_state& dev, std::uint64_t ticket) noexcept {
  if (dev.runtime().is_copy())
    base::refuse_to_child("a device");  // the lock of an engine may have been held at the fork
  return single(dev, ticket, true);
}

void all(device_state& dev, const group& which) noexcept {
  each_of(dev, which,
          [&](const operation_state&, std::uint64_t ticket) { static_cast<void>(single(dev, ticket, which.is_told)); });
}

std::vector<posted_operation> list(device_state& dev, const completion& target) {
  std::vector<posted_operation> out;
  each_of(dev, {.target = &target}, [&](const operation_state& each, std::uint64_t ticket) {
    out.push_back({each.opcode, each.peer, each.tag, ticket});
  });
  return out;
}

}  // namespace weft::core::cancel
