// SPDX-License-Identifier: BSD-3-Clause
// Handles arriving sends: a send matches a posted receive, or waits for one.
//
// Cost of 8 bytes: one probe of the table of engines, one cache line of the matching table, the copy, and the signal.
#include "core/protocol/arrive_send.hpp"

#include <cstring>

#include "base/log.hpp"
#include "core/device/device_state.hpp"
#include "core/fast/take_send.hpp"
#include "core/message/message_body.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/numbered_credits.hpp"
#include "core/protocol/receive.hpp"
#include "core/protocol/receiver_first.hpp"
#include "core/protocol/rendezvous.hpp"
#include "core/runtime/rank_memory.hpp"

namespace weft::core::arrive_send {

namespace {

// The message is for an engine that is withdrawn, or not made yet. If no receive will ever match an RTS, its sender
// gets an error.
bool refuse_send(device_state& dev, const net::arrival& message, lookup why) noexcept {
  if (why == lookup::withdrawn) {
    if (kind_of(message.header.kind) == wire::send_rts) {
      operation_state* const answer = arrive::get_operation(dev, message);
      if (answer == nullptr) {
        if (!arrive::put_aside(dev, message)) return false;
        numbered_credits::drop_or_keep(dev, message);
        return true;
      }
      rts_body body;
      std::memcpy(&body, message.payload, sizeof body);
      rendezvous::refuse(dev, *answer, body.ticket, errc::unknown_completion);
    }
    arrive::count_dropped(dev);
  }
  numbered_credits::drop_or_keep(dev, message);
  give_back(message);
  return true;
}

// Two sends that only their order could tell apart, in an engine that keeps none.
[[gnu::noinline, gnu::cold]] void note_ambiguous(device_state& dev, const engine_state& engine,
                                                 const net::arrival& message) noexcept {
  static base::said_once said;
  dev.counts().ambiguous();
  base::log_once(said, base::log_level::info,
                 "rank {}: two sends of rank {} with tag {} wait for receives in engine {}, which keeps no order: a "
                 "receive may get either (an engine made with {{.ordered = true}} keeps it, as MPI does); "
                 "arrival_counters::ambiguous_sends counts them",
                 dev.routes().own_rank(), message.source, message.header.tag, engine.id);
}

bool match_send(device_state& dev, engine_state& engine, const net::arrival& message) noexcept {
  const auto policy = static_cast<match_policy>(policy_of(message.header.kind));
  const match_key key = engine.key_of(policy, message.source, message.header.tag);
  match_node* found = nullptr;
  match_result result = dev.matching().table().take(key, match_side::receive, found);
  if (result == match_result::none) {
    unexpected_message* const kept = dev.matching().unexpected().try_keep(message, engine);
    if (kept == nullptr) return false;
    kept->key = key;
    const bool is_copied = dev.matching().unexpected().is_copied(*kept);
    bool is_behind = false;
    result = dev.matching().table().insert(*kept, found, is_behind);
    if (result == match_result::inserted) {
      if (is_copied) [[unlikely]]
        give_back(message);
      if (is_behind && policy == match_policy::rank_tag) [[unlikely]]
        note_ambiguous(dev, engine, message);
      return true;
    }
    dev.matching().unexpected().put_unused(*kept);  // a receive was posted meanwhile, or another thread holds the lock
  }
  if (result != match_result::matched) return false;
  deliver(dev, static_cast<operation_state&>(*found), message);
  return true;
}

// Delivers a match in an ordered engine: a receive and its message, or a send and the RTR that names its target buffer.
void deliver_matched(device_state& dev, operation_state& waited, const net::arrival& message) noexcept {
  if (kind_of(message.header.kind) != wire::ready_to_receive) return deliver(dev, waited, message);
  ready_body body;
  std::memcpy(&body, message.payload, sizeof body);
  waited.device = asker_of(message.header.kind);
  receiver_first::meet_ready(dev, waited, body);
}

// The sender's operation, by which it takes the message back; 0: it is complete there.
std::uint64_t ticket_of(const unexpected_message& message) noexcept {
  switch (kind_of(message.arrival.header.kind)) {
    case wire::ready_to_receive: return receiver_first::ticket_of(message);
    case wire::send_rts: {
      rts_body body;
      std::memcpy(&body, message.inlined, sizeof body);
      return body.ticket;
    }
    default: return 0;
  }
}

// Takes a message of an ordered engine that has a description of its own.
match_result arrive_in_order(device_state& dev, engine_state& engine, unexpected_message& kept,
                             matched_messages& released) noexcept {
  kept.sequence = kept.arrival.header.sequence;
  const match_result result = engine.ordered->arrive(kept, released);
  if (result == match_result::busy || result == match_result::refused) {
    kept.takes_back = false;
    dev.matching().unexpected().put_unused(kept);
  }
  return result;
}

// A numbered message that is kept until its engine is made has given its credit back, so it takes a common description.
unexpected_message* keep_numbered(device_state& dev, engine_state& engine, const net::arrival& message,
                                  bool is_early) noexcept {
  unexpected_sends& all = dev.matching().unexpected();
  return dev.is_redelivering() ? all.try_keep(message, engine) : all.try_keep_numbered(message, engine, is_early);
}

bool try_match_in_order(device_state& dev, engine_state& engine, const net::arrival& message) noexcept {
  const match_key key = make_match_key(engine.id, match_policy::rank_tag, message.source, message.header.tag);
  match_node* found = nullptr;
  matched_messages released;
  match_result result = engine.ordered->try_match(key, message.header.sequence, found, released);
  if (result == match_result::matched) {
    deliver_matched(dev, static_cast<operation_state&>(*found), message);
  } else if (result == match_result::none || result == match_result::early) {
    unexpected_message* const kept = keep_numbered(dev, engine, message, result == match_result::early);
    if (kept == nullptr) {
      deliver_all(dev, released);
      return false;
    }
    kept->key = key;
    kept->name = ticket_of(*kept);
    const bool is_copied = dev.matching().unexpected().is_copied(*kept);
    result = arrive_in_order(dev, engine, *kept, released);
    if (is_copied && result != match_result::busy && result != match_result::refused) give_back(message);
  }
  deliver_all(dev, released);
  if (result == match_result::refused) return arrive::reject(dev, message);
  return result != match_result::busy;
}

bool try_take_back_in_order(device_state& dev, engine_state& engine, const net::arrival& message,
                            std::uint64_t ticket) noexcept {
  const match_key key = make_match_key(engine.id, match_policy::rank_tag, message.source, 0);
  ordered_message* found = nullptr;
  matched_messages released;
  match_result result = engine.ordered->try_take_back(key, message.header.sequence, ticket, found, released);
  if (result == match_result::early) {
    unexpected_message* const kept = keep_numbered(dev, engine, message, true);
    if (kept == nullptr) {
      deliver_all(dev, released);
      return false;
    }
    kept->key = key;
    kept->name = ticket;
    kept->takes_back = true;
    result = arrive_in_order(dev, engine, *kept, released);
  }
  if (found != nullptr) receiver_first::end_taken_back(dev, static_cast<unexpected_message&>(*found));
  deliver_all(dev, released);
  if (result == match_result::refused) return arrive::reject(dev, message);
  return result != match_result::busy;
}

// Calls `handle`, which answers whether it has consumed the message. A message that was counted when it was kept
// (`drop_or_keep`) is counted when it is put in order instead.
template <class Handle>
bool count_again(device_state& dev, const net::arrival& message, const Handle& handle) noexcept {
  if (!dev.is_redelivering() || message.header.sequence == 0) [[likely]]
    return handle();
  order_credits& credits = dev.matching().unexpected().credits();
  credits.count_later(message.source);
  const bool is_consumed = handle();
  if (!is_consumed) numbered_credits::put_in_order(dev, message.source, 1);
  return is_consumed;
}

}  // namespace

void deliver_all(device_state& dev, matched_messages& released) noexcept {
  if (released.is_empty()) return;
  for (ordered_message* each = released.first; each != nullptr;) {
    ordered_message* const next = each->next;
    auto& message = static_cast<unexpected_message&>(*each);
    if (message.receive == nullptr) {
      receiver_first::end_taken_back(dev, message);
    } else if (message.engine->receiver_first) {
      deliver_matched(dev, static_cast<operation_state&>(*each->receive), message.arrival);
      dev.matching().unexpected().put(message);
    } else {
      receive::deliver_unexpected(dev, static_cast<operation_state&>(*each->receive), message);
    }
    each = next;
  }
  if (released.in_order() != 0 || released.has_more()) numbered_credits::continue_call(dev, released);
}

bool on_send(device_state& dev, const net::arrival& message) noexcept {
  const bool is_rts = kind_of(message.header.kind) == wire::send_rts;
  rts_body body;  // only checked here; the steps that need it read it again
  if (is_rts ? !read_body(message, body)
             : message.owner != nullptr && message.bytes > dev.memory().packets().packet_bytes()) {
    return arrive::reject(dev, message);
  }
  if (!is_rts && asker_of(message.header.kind) != 0) return arrive::reject(dev, message);  // it is not answered
  const found_engine to = find_engine(dev, message);
  if (to.state == lookup::no_room) return false;
  if (to.state != lookup::found) return refuse_send(dev, message, to.state);
  const bool consumed =
      to.engine->is_ordered() ? match_in_order(dev, *to.engine, message) : match_send(dev, *to.engine, message);
  if (message.owner != nullptr || is_rts) send_budget_notice(dev, message.source);
  return consumed;
}

// If the engine is not made yet, the message is kept until it is.
found_engine find_engine(device_state& dev, const net::arrival& message) noexcept {
  for (;;) {
    const base::id_entry found = dev.matching().engines().find(message.header.id);
    if (found.state == base::presence::present) return {lookup::found, static_cast<engine_state*>(found.object)};
    if (found.state == base::presence::withdrawn) return {lookup::withdrawn, nullptr};
    switch (dev.matching().kept().keep(message, dev.matching().engines().ids())) {
      case kept_messages::answer::kept: return {lookup::kept, nullptr};
      case kept_messages::answer::no_room: return {lookup::no_room, nullptr};
      case kept_messages::answer::registered_now: break;  // made just now: look again
    }
  }
}

// Takes a message that has matched its receive, but is not the simple case.
[[gnu::noinline, gnu::cold]] void deliver_slow(device_state& dev, operation_state& receive, std::uint32_t source,
                                               std::uint64_t tag, const std::byte* payload,
                                               std::uint32_t bytes) noexcept {
  deliver(dev, receive, {source, {.tag = tag}, payload, bytes, nullptr});
}

bool match_in_order(device_state& dev, engine_state& engine, const net::arrival& message) noexcept {
  if (policy_of(message.header.kind) != static_cast<std::uint32_t>(match_policy::rank_tag))
    return arrive::reject(dev, message);
  if (engine.receiver_first != (kind_of(message.header.kind) == wire::ready_to_receive)) [[unlikely]] {
    receiver_first::say_kinds_differ(dev, engine, message);
    return refuse_send(dev, message, lookup::withdrawn);
  }
  return count_again(dev, message, [&] { return try_match_in_order(dev, engine, message); });
}

bool take_back_in_order(device_state& dev, engine_state& engine, const net::arrival& message,
                        std::uint64_t ticket) noexcept {
  return count_again(dev, message, [&] { return try_take_back_in_order(dev, engine, message, ticket); });
}

// Tells the sender `source` when too many of its packets wait here, and again when few do. Where there is no room for
// the notice, the next message, RTS or receive tries again: nobody waits for a notice, so it takes no operation. Two
// threads may send the same notice; the sender ignores the second.
void send_budget_notice(device_state& dev, std::uint32_t source) noexcept {
  send_budget& budget = dev.matching().unexpected().budget();
  const std::uint32_t number = budget.next_notice(source);
  if (number == 0) return;
  const net::header header{.kind = static_cast<std::uint32_t>(wire::budget_notice), .sequence = number};
  if (dev.routes().endpoint_to(source).try_send_inline(source, net::any_device, header, nullptr, 0) ==
      net::post_result::ok) {
    budget.note_sent(source, number);
  }
}

bool on_budget_notice(device_state& dev, const net::arrival& message) noexcept {
  if (message.owner != nullptr || message.bytes != 0) return arrive::reject(dev, message);
  dev.matching().unexpected().budget().on_notice(message.source, message.header.sequence);
  return true;
}

// Only this thread uses the receive and the message. A step that can't be done now goes to the backlog.
void deliver(device_state& dev, operation_state& receive, const net::arrival& message) noexcept {
  receive.peer = message.source;
  receive.tag = message.header.tag;
  if (kind_of(message.header.kind) == wire::send_rts) {
    rts_body body;
    std::memcpy(&body, message.payload, sizeof body);
    receive.device = asker_of(message.header.kind);
    return rendezvous::begin(dev, receive, body);
  }
  receive.receiving.message_bytes = message.bytes;
  receive.bytes = 0;
  if (message.bytes > receive.receiving.into.bytes()) {
    receive.error = errc::truncated;
    complete::log_truncated(receive);
  } else if (receive.receiving.into.copy_from(message.payload, message.bytes)) {
    receive.bytes = message.bytes;
  } else {
    receive.error = errc::memory_failed;
  }
  give_back(message);
  complete::signal_or_defer(dev, receive);
}

}  // namespace weft::core::arrive_send
