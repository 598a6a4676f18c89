// SPDX-License-Identifier: BSD-3-Clause
// Posting a receive, and probing for a message (dang2016, 3.1; zhou2024, 3.4).
//
// Cost of a receive: an operation from its pool and the matching table's one cache line; a copy if the message has
// arrived already.
#include "core/protocol/receive.hpp"

#include <cstring>

#include "base/misuse.hpp"
#include "core/message/message_body.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/post_message.hpp"
#include "core/protocol/receiver_first.hpp"
#include "core/protocol/rendezvous.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::receive {

namespace {

match_key key_of(const receive_request& request) noexcept {
  if (!request.engine->is_ordered()) return request.engine->key_of(request.policy, request.peer, request.tag);
  return make_match_key(request.engine->id, open_policy(request.peer, request.any_tag), request.peer, request.tag);
}

void describe(operation_state& receive, const receive_request& request) noexcept {
  receive.opcode = operation::receive;
  receive.peer = request.peer;
  receive.device = net::any_device;
  receive.tag = request.tag;
  receive.receiving.into = request.into;
  receive.bytes = 0;
  receive.receiving.message_bytes = 0;
  receive.owed.context = request.context;
  // [receive.of_engine] relaxed -> [operation.ended_in]: the engine's lock orders what counts.
  receive.receiving.engine.store(request.engine, std::memory_order_relaxed);
  receive.will_signal(*request.local);
}

// False: another thread holds the engine's lock, and the receive may be refused; nothing has happened. A receive that
// may not be refused keeps its place: the thread inside posts it. When this returns true, it may already be complete.
bool post_in_order(device_state& dev, operation_state& receive, engine_state& engine, bool may_refuse) noexcept {
  ordered_message* found = nullptr;
  matched_messages released;
  const match_result result = may_refuse ? engine.ordered->post(receive, found, released)
                                         : engine.ordered->post_or_leave(receive, found, released);
  if (result == match_result::matched) deliver_unexpected(dev, receive, static_cast<unexpected_message&>(*found));
  arrive_send::deliver_all(dev, released);
  return result != match_result::busy;
}

status try_post_receive(device_state& dev, const receive_request& request) {
  operation_state* const receive = dev.operations().receives().try_get();
  if (receive == nullptr) {
    const status late = receive_late(dev, request);
    if (!late.is_retry() || request.allow_retry) return late;
    throw_backlog_full(operation::receive, request.peer, dev.operations().receives().count());
  }
  describe(*receive, request);
  if (request.engine->receiver_first) return receiver_first::announce(dev, *receive, request);
  receive->key = key_of(request);
  receive->side = match_side::receive;
  const std::uint64_t ticket = receive->ticket.load(std::memory_order_relaxed);  // [own] until it is in the table
  receive->reach(step::wait_for_match);
  const bool is_in = request.engine->is_ordered() ? post_in_order(dev, *receive, *request.engine, request.allow_retry)
                                                  : try_match(dev, *receive);
  if (is_in) return status::posted(ticket);
  if (!request.allow_retry) {
    dev.defer(*receive, step::try_match);
    return status::posted(ticket);
  }
  promise::cancel(*request.local);
  complete::put_back(dev, *receive);
  return status::retry(shortage::lock);
}

status receive_probed(device_state& dev, operation_state& receive, unexpected_message& probed,
                      const receive_request& request) noexcept {
  describe(receive, request);
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);  // [own] until then
  deliver_unexpected(dev, receive, probed);
  return status::posted(ticket);
}

void drop_unexpected(device_state& dev, unexpected_message& done) noexcept {
  const std::uint32_t source = done.arrival.source;
  dev.matching().unexpected().put(done);
  arrive_send::send_budget_notice(dev, source);
}

}  // namespace

status post_receive(device_state& dev, const receive_request& request) {
  return dev.counts().answered(operation::receive, request.into.bytes(), try_post_receive(dev, request));
}

// No operation is free for a receive that waits. If its message has arrived, the receive gets one of the late receives.
status receive_late(device_state& dev, const receive_request& request) noexcept {
  if (dev.runtime().is_copy()) base::refuse_to_child("a device");
  operation_state* const receive = dev.operations().late_receives().try_get();
  if (receive == nullptr) return status::retry(shortage::receives);
  bool is_busy = false;
  unexpected_message* const found = request.engine->receiver_first ? nullptr : probe(dev, request, is_busy);
  if (found == nullptr) {
    complete::put_back(dev, *receive);
    return status::retry(shortage::receives);
  }
  return receive_probed(dev, *receive, *found, request);
}

// False: another thread holds the lock; nothing has happened. When this returns true, the receive may already be
// complete. So its step is set before, and a receive from the backlog stays at `match` while it waits.
bool try_match(device_state& dev, operation_state& receive) noexcept {
  match_node* found = nullptr;
  const match_result result = dev.matching().table().insert(receive, found);
  if (result == match_result::matched) deliver_unexpected(dev, receive, static_cast<unexpected_message&>(*found));
  return result != match_result::busy;
}

void deliver_unexpected(device_state& dev, operation_state& receive, unexpected_message& message) noexcept {
  const bool has_packet = message.arrival.owner != nullptr;
  const std::uint32_t source = message.arrival.source;
  arrive_send::deliver(dev, receive, message.arrival);
  dev.matching().unexpected().put(message);
  if (has_packet) arrive_send::send_budget_notice(dev, source);
}

unexpected_message* probe(device_state& dev, const receive_request& request, bool& is_busy) noexcept {
  if (dev.runtime().is_copy()) base::refuse_to_child("a device");
  const match_key key = key_of(request);
  if (request.engine->is_ordered()) {
    ordered_message* found = nullptr;
    matched_messages released;
    const match_result result = request.engine->ordered->take(key, found, released);
    arrive_send::deliver_all(dev, released);
    is_busy = result == match_result::busy;
    return result == match_result::matched ? static_cast<unexpected_message*>(found) : nullptr;
  }
  match_node* found = nullptr;
  const match_result result = dev.matching().table().take(key, match_side::send, found);
  is_busy = result == match_result::busy;
  return result == match_result::matched ? static_cast<unexpected_message*>(found) : nullptr;
}

std::optional<message_envelope> peek(device_state& dev, const receive_request& request, bool& is_busy) noexcept {
  if (dev.runtime().is_copy()) base::refuse_to_child("a device");
  const match_key key = key_of(request);
  message_envelope found;
  const auto visit = [&](const ordered_message& each) {
    const auto& message = static_cast<const unexpected_message&>(each);
    found = {message.arrival.source, message.arrival.header.tag, message.bytes};
  };
  matched_messages released;
  // Another thread may take the message, and use its description again, once the lock is free.
  const match_result result = request.engine->is_ordered()
                                  ? request.engine->ordered->peek(key, visit, released)
                                  : dev.matching().table().peek(key, match_side::send, [&](const match_node& each) {
                                      visit(static_cast<const ordered_message&>(each));
                                    });
  arrive_send::deliver_all(dev, released);
  is_busy = result == match_result::busy;
  if (result != match_result::matched) return std::nullopt;
  return found;
}

status receive_message(device_state& dev, unexpected_message& probed, const receive_request& request) noexcept {
  if (dev.runtime().is_copy()) base::refuse_to_child("a device");
  operation_state* receive = dev.operations().receives().try_get();
  if (receive == nullptr) receive = dev.operations().late_receives().try_get();
  if (receive == nullptr) return dev.counts().retried(status::retry(shortage::receives));
  return dev.counts().answered(operation::receive, request.into.bytes(),
                               receive_probed(dev, *receive, probed, request));
}

// Drops a message that will not be received: gives its packet back; the sender of a long message gets its buffer back.
void discard(device_state& dev, unexpected_message& probed) noexcept {
  if (kind_of(probed.arrival.header.kind) == wire::ready_to_receive)
    return receiver_first::give_up(dev, probed, errc::unknown_completion);
  if (probed.takes_back) return receiver_first::end_taken_back(dev, probed);
  arrive::count_dropped(dev);
  const net::arrival& message = probed.arrival;
  if (kind_of(message.header.kind) == wire::send_rts) {
    if (operation_state* const answer = operation_for_unwanted(dev); answer != nullptr) {
      answer_unwanted(dev, *answer, probed);
    } else {
      dev.matching().kept().put_aside(probed);
      dev.runtime().parking().wake_device(dev.index());  // a sleeping thread has to look for an operation
    }
    return;
  }
  give_back(message);
  drop_unexpected(dev, probed);
}

operation_state* operation_for_unwanted(device_state& dev) noexcept {
  operation_state* const out = dev.operations().arrivals().try_get();
  return out != nullptr ? out : dev.operations().receives().try_get();
}

void answer_unwanted(device_state& dev, operation_state& answer, unexpected_message& unwanted) noexcept {
  const bool is_receive = kind_of(unwanted.arrival.header.kind) == wire::ready_to_receive;
  answer.peer = unwanted.arrival.source;
  answer.device = asker_of(unwanted.arrival.header.kind);
  if (is_receive) {
    ready_body body;
    std::memcpy(&body, unwanted.arrival.payload, sizeof body);
    answer.copying.remote_ticket = body.ticket;
    answer.bytes = 0;
    answer.answering.receiver_error = unwanted.why;
    dev.defer(answer, step::send_written);
  } else {
    rts_body body;
    std::memcpy(&body, unwanted.arrival.payload, sizeof body);
    rendezvous::refuse(dev, answer, body.ticket, errc::none);  // its sender has done nothing wrong
  }
  drop_unexpected(dev, unwanted);
}

// Answers senders whose messages were dropped while no operation was free to answer with.
unsigned answer_all_unwanted(device_state& dev) noexcept {
  unsigned answered = 0;
  for (; dev.matching().kept().unwanted_count() != 0; ++answered) {
    operation_state* const answer = operation_for_unwanted(dev);
    if (answer == nullptr) break;
    ordered_message* const unwanted = dev.matching().kept().take_unwanted();
    if (unwanted == nullptr) {
      complete::put_back(dev, *answer);
      break;
    }
    answer_unwanted(dev, *answer, static_cast<unexpected_message&>(*unwanted));
  }
  return answered;
}

}  // namespace weft::core::receive
