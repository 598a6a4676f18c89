// SPDX-License-Identifier: BSD-3-Clause
// Engines whose receivers begin (dang2016, 2.3.2): the eager protocol with the roles exchanged.
//
// A receive is posted by a message, RTR, to the rank that it names. There it matches a send, in the order of both
// sides' posts: the sender matches the RTRs of its peers with its own sends by the rules of ordered_matching.hpp. When
// the second of the two is there, the sender writes: a message that fits into a packet as one packet, a longer one
// straight into the receive's buffer, followed by FIN, or as packets if the transport can't write into a peer's memory.
// The sender knows the size of the buffer, so only the size of the message decides.
//
// Cost of a receive: an operation and one message. Of a send: an operation and the engine's lock.
#include "core/protocol/receiver_first.hpp"
#include "core/message/choose_protocol.hpp"
#include "core/operation/copy_step.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "core/device/device_state.hpp"
#include "core/message/message_body.hpp"
#include "core/protocol/advance.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/direct_copy.hpp"
#include "core/protocol/lost_message.hpp"
#include "core/protocol/numbered_credits.hpp"
#include "core/protocol/post_message.hpp"
#include "core/protocol/post_numbered.hpp"
#include "core/protocol/receive.hpp"
#include "core/protocol/rendezvous.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::receiver_first {

namespace {

ready_body body_of(const unexpected_message& ready) noexcept {
  ready_body out;
  std::memcpy(&out, ready.arrival.payload, sizeof out);
  return out;
}

// Once the RTR is sent, the receive may be complete. If it is not sent, the receive is at step `ready`.
net::post_result announce_buffer(device_state& dev, operation_state& receive) noexcept {
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);             // [own] until RTR is out
  const engine_state& engine = *receive.receiving.engine.load(std::memory_order_relaxed);  // [own]
  const net::header header{.kind = asking_word(wire::ready_to_receive, dev.index()),
                           .id = engine.id,
                           .sequence = receive.sending.sequence,
                           .note = operation_pool::note_of(ticket),
                           .tag = receive.tag};
  const announced_memory into = announced(receive.receiving.into);
  const ready_body body{into.address, receive.bytes, ticket, into.pieces};
  return send_and_wait(dev, receive, step::wait_for_sender, step::send_ready,
                       [&] { return dev.routes().try_send_body(receive.peer, receive.device, header, body); });
}

// Packets come in any order. The message's end counts the unused bytes of the buffer, plus one. So the count reaches
// `bytes + 1` exactly when all packets and the end have arrived.
void count_written(device_state& dev, operation_state& receive, std::uint64_t bytes) noexcept {
  const std::uint64_t all = receive.bytes + 1;
  // [written.note] relaxed: the ticket stays until all is counted, and was seen by [operation.at].
  const std::uint32_t note = operation_pool::note_of(receive.ticket.load(std::memory_order_relaxed));
  const std::uint32_t peer = receive.peer;
  // [written.count] acq_rel -> [written.count]: the thread that completes the count sees all packets in the buffer, and
  // the end.
  if (receive.copying.moved.fetch_add(bytes, std::memory_order_acq_rel) + bytes != all) return;
  if (dev.operations().claim(note, peer) == nullptr) return;  // a faulty peer has ended it twice
  receive.bytes = receive.receiving.message_bytes;
  // [written.failed] relaxed <- [chunk.fail], [written.fail]: published by the count.
  if (receive.copying.has_failed.load(std::memory_order_relaxed)) [[unlikely]] {
    receive.error = errc::memory_failed;
    receive.bytes = 0;
  }
  if (receive.copying.acknowledge) {
    if (!rendezvous::send_fin(dev, receive)) dev.defer(receive);
  } else {
    complete::signal_or_defer(dev, receive);
  }
}

// Sends the request that takes back the RTR of the receive `ticket`, now or, once it has a number, by the backlog.
bool ask_sender(device_state& dev, ordered_numbers& numbers, std::uint32_t engine, std::uint32_t sender,
                std::uint64_t ticket) noexcept {
  net::header header{.kind = asking_word(wire::withdraw_rtr, dev.index()), .id = engine};
  const auto send = [&](std::uint32_t number) {
    header.sequence = number;
    return dev.routes().try_send_body(sender, net::any_device, header, withdraw_rtr_body{ticket});
  };
  operation_state* const carrier = dev.operations().posts().try_get();
  if (carrier == nullptr) return post_numbered_now(dev, numbers, {sender, net::any_device}, send) == numbered::sent;
  const numbered result = post_numbered(dev, numbers, {sender, net::any_device}, *carrier, true, send);
  if (result != numbered::owed) {
    complete::put_back(dev, *carrier);
    return result == numbered::sent;
  }
  carrier->opcode = operation::receive;
  carrier->peer = sender;
  carrier->device = net::any_device;
  carrier->tag = 0;
  carrier->bytes = 0;
  carrier->sending.id = engine;
  carrier->sending.kind = header.kind;
  carrier->sending.sequence = header.sequence;
  carrier->copying.remote_ticket = ticket;
  dev.defer(*carrier, step::post_again);
  return true;
}

bool is_short(device_state& dev, const operation_state& send) noexcept {
  return is_eager(send.bytes, dev.memory().packets().packet_bytes());
}

// The first step of a send that has matched its receive.
step step_with(device_state& dev, operation_state& send, const ready_body& ready) noexcept {
  send.copying.remote_ticket = ready.ticket;
  const bool may_write = send.sending.source.is_for_peers();  // else in packets
  send.copying.begin(may_write ? ready.address : 0, static_cast<std::uint32_t>(ready.pieces));
  send.answering.receiver_error = errc::none;
  if (send.bytes > ready.bytes) {
    send.answering.receiver_error = errc::truncated;
    return step::send_written;
  }
  if (!send.copying.acknowledge || (send.copying.remote_address != 0 && !is_short(dev, send))) return step::write;
  // It goes by packets, which the receiver confirms: `written` tells it the send's ticket.
  send.copying.remote_address = 0;
  return step::send_written;
}

status begin_write(device_state& dev, operation_state& send, unexpected_message& message, bool allow_done) noexcept {
  const std::uint64_t ticket = send.ticket.load(std::memory_order_relaxed);  // [own]
  const step first = step_with(dev, send, body_of(message));
  send.device = asker_of(message.arrival.header.kind);
  dev.matching().unexpected().put(message);
  send.reach(first);
  completion& local = *send.owed.target;
  const bool may_be_done =
      allow_done && !send.copying.acknowledge && (first == step::send_written || is_short(dev, send));
  if (may_be_done) send.owed.target = nullptr;
  if (advance(dev, send)) {
    if (!may_be_done) return status::posted(ticket);
    promise::cancel(local);
    return status::done();
  }
  send.owed.target = &local;
  dev.defer(send);
  return status::posted(ticket);
}

bool write_piece(device_state& dev, operation_state& send) noexcept {
  const std::uint64_t done = send.copying.moved.load(std::memory_order_relaxed);  // [own] the writing device's alone
  const source_payload& from = send.sending.source;
  const std::uint64_t bytes = copy_step(send, done, from.piece_bytes());
  switch (direct_copy::write(dev, send, from, done, bytes)) {
    case net::copy_result::done:
      send.copying.moved.store(done + bytes, std::memory_order_relaxed);  // [own] the writing device's alone
      if (done + bytes < send.bytes) return false;
      dev.counts().went(path::copied, send.opcode, send.bytes);
      break;
    case net::copy_result::unavailable:
      send.copying.remote_address = 0;
      send.copying.moved.store(0, std::memory_order_relaxed);  // [own] begins again by packets
      send.reach(send.copying.acknowledge ? step::send_written : step::stream);
      return false;
    case net::copy_result::bad_address: send.error = errc::transport_failed; break;
    case net::copy_result::peer_gone:
      send.error = errc::peer_failed;
      look_for_ends_soon(dev);
      break;
  }
  return send_written(dev, send);
}

}  // namespace

status announce(device_state& dev, operation_state& receive, const receive_request& request) {
  completion& local = *receive.owed.target;
  receive.bytes = receive.receiving.into.bytes();
  receive.copying.has_failed.store(false, std::memory_order_relaxed);  // [own] no chunk is under way yet
  // [receive.announced] relaxed -> [receive.ask]: no more than a guess there.
  receive.receiving.announced_to.store(request.peer, std::memory_order_relaxed);
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);  // [own] until RTR is out
  net::post_result result = net::post_result::busy;
  const auto send = [&](std::uint32_t number) {
    receive.sending.sequence = number;
    return result = announce_buffer(dev, receive);
  };
  switch (post_numbered(dev, request.engine->numbers, {request.peer, net::any_device}, receive, request.allow_retry,
                        send)) {
    case numbered::sent: return status::posted(ticket);
    case numbered::owed: dev.defer(receive, step::send_ready); return status::posted(ticket);
    case numbered::uncredited: result = net::post_result::full; break;
    case numbered::refused:
    case numbered::closed: break;
  }
  promise::cancel(local);
  complete::put_back(dev, receive);
  if (!request.allow_retry) throw_backlog_full(operation::receive, request.peer, dev.operations().receives().count());
  return unless_cut_off(dev, operation::receive, request.peer, status::retry(shortage_of(result)));
}

bool send_ready(device_state& dev, operation_state& receive) noexcept {
  const engine_state& engine = *receive.receiving.engine.load(std::memory_order_relaxed);  // [own] until RTR is out
  return numbered_credits::may_send(dev, receive, engine.id) && announce_buffer(dev, receive) == net::post_result::ok;
}

// Handles a packet of a message, maybe its last or only one, for a receive that has announced its buffer.
bool on_written_chunk(device_state& dev, const net::arrival& message, std::uint64_t offset) noexcept {
  const bool is_last = kind_of(message.header.kind) == wire::last_chunk;
  operation_state* const receive =
      dev.operations().receives().find(message.header.tag, message.source, step::wait_for_sender);
  if (receive == nullptr || (message.bytes == 0 && !is_last) || !is_within(offset, message.bytes, receive->bytes)) {
    return arrive::reject(dev, message);
  }
  std::uint64_t written = message.bytes;
  rendezvous::copy_chunk(*receive, message, offset);
  if (is_last) {
    receive->receiving.message_bytes = offset + message.bytes;
    written += receive->bytes - receive->receiving.message_bytes + 1;
  }
  give_back(message);
  count_written(dev, *receive, written);
  return true;
}

bool on_chunks_failed(device_state& dev, const net::arrival& message, const chunks_failed_body& body) noexcept {
  operation_state* const receive =
      dev.operations().receives().find(message.header.tag, message.source, step::wait_for_sender);
  if (receive == nullptr || body.bytes > receive->bytes) return arrive::reject(dev, message);
  // [written.fail] relaxed -> [written.failed]: published by the count.
  receive->copying.has_failed.store(true, std::memory_order_relaxed);
  if (body.is_end != 0) receive->receiving.message_bytes = body.bytes;
  const std::uint64_t all = body.is_end != 0 ? receive->bytes + 1 : body.bytes;
  count_written(dev, *receive, all - body.sent);
  return true;
}

bool on_written(device_state& dev, const net::arrival& message) noexcept {
  written_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  operation_state* const receive = dev.operations().receives().find(body.ticket, message.source, step::wait_for_sender);
  const errc error = arrive::error_of(body.error);
  if (receive == nullptr || (error == errc::none && body.bytes > receive->bytes)) return arrive::reject(dev, message);
  if (error == errc::none && body.acknowledge != 0) {
    receive->device = asker_of(message.header.kind);
    receive->copying.acknowledge = true;
    receive->copying.remote_ticket = body.acknowledge;
    receive->receiving.message_bytes = body.bytes;
    count_written(dev, *receive, receive->bytes - body.bytes + 1);
    return true;
  }
  if (dev.operations().claim(operation_pool::note_of(body.ticket), message.source) == nullptr)
    return arrive::reject(dev, message);
  receive->error = error;
  receive->receiving.message_bytes = body.bytes;
  receive->bytes = error == errc::none ? body.bytes : 0;
  if (error == errc::cancelled) receive->receiving.into = {};
  complete::signal_or_defer(dev, *receive);
  return true;
}

// The sender matches the receive, so it is asked to give it up. The request has the next number after the RTR's: the
// sender handles it after the RTR, and need not be asked again. The fields read here may belong to another receive by
// now: then the message goes to a sender that does not know `ticket`, which ignores it.
cancel_answer ask_back(device_state& dev, std::uint64_t ticket) noexcept {
  operation_state* const receive = dev.operations().receives().find(ticket, step::wait_for_sender);
  if (receive == nullptr) {
    return dev.operations().receives().find(ticket, step::send_ready) != nullptr ? cancel_answer::busy
                                                                                 : cancel_answer::too_late;
  }
  // [receive.announced_in] relaxed: as [receive.cancel] in receive.cpp.
  engine_state& engine = *receive->receiving.engine.load(std::memory_order_relaxed);
  if (!engine.receiver_first) return cancel_answer::busy;  // another receive
  // [receive.ask] relaxed <- [receive.announced]: a guess, like the engine.
  const std::uint32_t sender = receive->receiving.announced_to.load(std::memory_order_relaxed);
  // [hint] threads that ask at one moment ask twice; the sender ignores the second request, as one for another receive.
  const std::uint64_t asked = operation_pool::request_of(ticket, back_request::asked);
  if (receive->sending.asked_back.load(std::memory_order_relaxed) == asked) return cancel_answer::asked;
  if (!ask_sender(dev, engine.numbers, engine.id, sender, ticket)) return cancel_answer::busy;
  receive->sending.asked_back.store(asked, std::memory_order_relaxed);  // [hint]
  return cancel_answer::asked;
}

bool ask_again(device_state& dev, operation_state& carrier) noexcept {
  const net::header header{
      .kind = carrier.sending.kind, .id = carrier.sending.id, .sequence = carrier.sending.sequence};
  const withdraw_rtr_body body{carrier.copying.remote_ticket};
  if (dev.routes().try_send_body(carrier.peer, net::any_device, header, body) != net::post_result::ok) return false;
  carrier.reach(step::try_signal);
  return complete::try_signal(dev, carrier);
}

status match_ready(device_state& dev, operation_state& send, engine_state& engine, bool allow_done, bool allow_retry) {
  const std::uint64_t ticket = send.ticket.load(std::memory_order_relaxed);  // [own] until it waits
  completion& local = *send.owed.target;
  send.key = make_match_key(engine.id, match_policy::rank_tag, send.peer, send.tag);
  // [send.of_engine] relaxed -> [operation.ended_in]: published by the step.
  send.receiving.engine.store(&engine, std::memory_order_relaxed);
  send.reach(step::wait_for_match);
  ordered_message* found = nullptr;
  matched_messages released;
  const match_result result =
      allow_retry ? engine.ordered->post(send, found, released) : engine.ordered->post_or_leave(send, found, released);
  status answer = status::posted(ticket);
  if (result == match_result::matched) {
    answer = begin_write(dev, send, static_cast<unexpected_message&>(*found), allow_done);
  } else if (result == match_result::busy) {
    promise::cancel(local);
    complete::put_back(dev, send);
    answer = status::retry(shortage::lock);
  }
  arrive_send::deliver_all(dev, released);
  return answer;
}

// Called when an RTR has matched a waiting send.
void meet_ready(device_state& dev, operation_state& send, const ready_body& ready) noexcept {
  const step first = step_with(dev, send, ready);
  send.reach(first);
  if ((first == step::write && !is_short(dev, send)) || !advance(dev, send)) dev.defer(send);
}

bool write(device_state& dev, operation_state& send) noexcept {
  if (is_short(dev, send)) {
    const net::header header{.kind = static_cast<std::uint32_t>(wire::last_chunk), .tag = send.copying.remote_ticket};
    shortage reason = shortage::none;
    if (post_message::post_eager(dev, send.peer, send.device, header, send.sending.source, reason) !=
        net::post_result::ok) {
      // Without an object to signal, the post may still answer done: it answers posted, and the backlog fails the send.
      return reason == shortage::none && send.owed.target != nullptr && rendezvous::fail_chunks(dev, send);
    }
    send.reach(step::try_signal);
    return complete::try_signal(dev, send);
  }
  if (send.copying.remote_address != 0) return write_piece(dev, send);
  send.reach(step::stream);
  return rendezvous::stream(dev, send);
}

bool send_written(device_state& dev, operation_state& send) noexcept {
  const auto told = static_cast<std::uint64_t>(send.error != errc::none ? send.error : send.answering.receiver_error);
  const bool sends_packets =
      send.copying.acknowledge && send.copying.remote_address == 0 && send.bytes != 0 && told == 0;
  // The send does not wait for a peer that is cut off.
  if (!is_cut_off(dev, send.peer)) {
    const std::uint64_t ticket = send.ticket.load(std::memory_order_relaxed);  // [own]
    const written_body body{send.copying.remote_ticket, send.bytes, sends_packets ? ticket : 0, told};
    const net::header header{.kind = asking_word(wire::written, dev.index()),
                             .note = sends_packets ? operation_pool::note_of(ticket) : 0};
    if (dev.routes().try_send_body(send.peer, send.device, header, body) != net::post_result::ok) {
      send.reach(step::send_written);
      return false;
    }
  }
  send.reach(sends_packets ? step::stream : step::try_signal);
  return sends_packets ? rendezvous::stream(dev, send) : complete::try_signal(dev, send);
}

bool on_ready_to_receive(device_state& dev, const net::arrival& message) noexcept {
  ready_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  const found_engine to = arrive_send::find_engine(dev, message);
  if (to.state == lookup::no_room) return false;
  if (to.state == lookup::kept) numbered_credits::drop_or_keep(dev, message);
  if (to.state == lookup::kept) return true;
  if (to.state == lookup::found && to.engine->receiver_first)
    return arrive_send::match_in_order(dev, *to.engine, message);
  if (to.state == lookup::found) say_kinds_differ(dev, *to.engine, message);
  // No send will ever match it: the receiver gets an error.
  operation_state* const answer = arrive::get_operation(dev, message);
  if (answer == nullptr && !arrive::put_aside(dev, message)) return false;
  numbered_credits::drop_or_keep(dev, message);
  if (answer == nullptr) return true;
  answer->copying.remote_ticket = body.ticket;
  answer->answering.receiver_error = errc::unknown_completion;
  dev.defer(*answer, step::send_written);
  return true;
}

void say_kinds_differ(device_state& dev, engine_state& engine, const net::arrival& message) noexcept {
  const bool is_here = engine.receiver_first;
  base::log_once(engine.told_of_kind, base::log_level::error,
                 "matching engine {} is receiver-first on rank {} and not on rank {}: nothing can be sent and received "
                 "in it between the two; make it alike on all ranks",
                 engine.id, is_here ? dev.routes().own_rank() : message.source,
                 is_here ? message.source : dev.routes().own_rank());
}

bool on_withdraw_rtr(device_state& dev, const net::arrival& message) noexcept {
  withdraw_rtr_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  const found_engine to = arrive_send::find_engine(dev, message);
  if (to.state == lookup::no_room) return false;
  if (to.state != lookup::found) {  // kept, as its RTR; or the receiver has got an error
    numbered_credits::drop_or_keep(dev, message);
    return true;
  }
  if (!to.engine->receiver_first) return arrive::reject(dev, message);
  return arrive_send::take_back_in_order(dev, *to.engine, message, body.ticket);
}

std::uint64_t ticket_of(const unexpected_message& ready) noexcept { return body_of(ready).ticket; }

void end_taken_back(device_state& dev, unexpected_message& message) noexcept {
  if (!message.takes_back) return give_up(dev, message, errc::cancelled);
  message.takes_back = false;  // so it is in all that are free
  dev.matching().unexpected().put(message);
}

// Answers an RTR that no send will match here: the receiver gets the error `why`, now or once an operation is free for
// it.
void give_up(device_state& dev, unexpected_message& ready, errc why) noexcept {
  ready.why = why;
  if (operation_state* const answer = receive::operation_for_unwanted(dev); answer != nullptr) {
    receive::answer_unwanted(dev, *answer, ready);
    return;
  }
  dev.matching().kept().put_aside(ready);
  dev.runtime().parking().wake_device(dev.index());  // a thread that sleeps at this device has to look for an operation
}

}  // namespace weft::core::receiver_first
