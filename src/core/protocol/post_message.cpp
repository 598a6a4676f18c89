// SPDX-License-Identifier: BSD-3-Clause
// Posting an active message or send: inline, in a packet, or as an RTS, after which the target fetches the bytes.
//
// Cost of 8 bytes: one virtual call and what the transport does (shared memory: one cache line).
#include "core/protocol/post_message.hpp"
#include "base/assertion.hpp"
#include "core/message/choose_protocol.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/device/device_state.hpp"
#include "core/matching/engine_state.hpp"
#include "core/protocol/awaited.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/direct_copy.hpp"
#include "core/protocol/lost_message.hpp"
#include "core/protocol/numbered_credits.hpp"
#include "core/protocol/post_inline.hpp"
#include "core/protocol/post_numbered.hpp"
#include "core/protocol/receiver_first.hpp"
#include "core/protocol/withdraw_rts.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::post_message {

namespace {

net::header header_of(wire kind, const message_request& request) noexcept {
  return {.kind = kind_word(kind, request.policy), .id = request.id, .sequence = request.sequence, .tag = request.tag};
}

// Copies the request into the operation.
void describe(operation_state& operation, const message_request& request, wire kind) noexcept {
  operation.opcode = request.opcode;
  operation.peer = request.peer;
  operation.device = request.device;
  operation.sending.id = request.id;
  operation.sending.kind = kind_word(kind, request.policy);
  operation.sending.sequence = request.sequence;
  operation.tag = request.tag;
  operation.sending.source = request.bytes;
  operation.bytes = request.bytes.bytes();
  operation.copying.acknowledge = request.delivered;
  operation.copying.begin(0, 0);
  operation.owed.context = request.context;
  operation.will_signal(*request.local);
}

// Whether the bytes are sent with the message. If not, an RTS is sent: the message is long, its arrival has to be
// confirmed, or too many of this rank's messages wait for receives at the target.
bool goes_eagerly(device_state& dev, const message_request& request) noexcept {
  const message_protocol by_size = choose_protocol(request.bytes.bytes(), dev.memory().packets().packet_bytes());
  if (request.delivered || by_size == message_protocol::rendezvous) return false;
  return by_size == message_protocol::inlined || request.eager != wire::send ||
         !dev.matching().unexpected().budget().must_send_rts(request.peer);
}

// Sends the RTS for an operation that has been described. Once it is sent, the operation may be complete.
net::post_result send_rts(device_state& dev, operation_state& operation, const message_request& request) noexcept {
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] until it is out
  const announced_memory from = announced(request.bytes);
  const rts_body body{from.address, request.bytes.bytes(), ticket, request.delivered, from.pieces};
  net::header header = header_of(request.rts, request);
  header.kind = asking_word(header.kind, dev.index());
  header.note = operation_pool::note_of(ticket);
  return send_and_wait(dev, operation, step::wait_for_answer, step::post_again,
                       [&] { return dev.routes().try_send_body(request.peer, request.device, header, body); });
}

status post_rts(device_state& dev, const message_request& request) noexcept {
  operation_state* operation = dev.operations().posts().try_get();
  if (operation == nullptr) return status::retry(shortage::operations);
  describe(*operation, request, request.rts);
  if (request.delivered) awaited::begin(dev, *operation);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] until it is out
  const net::post_result result = send_rts(dev, *operation, request);
  if (result == net::post_result::ok) return status::posted(ticket);
  promise::cancel(*request.local);
  complete::put_back(dev, *operation);
  return status::retry(shortage_of(result));
}

// Whether a message that was refused for this reason stays with its sender, by an RTS. If there is no packet: all of
// them may hold messages that wait for receives, and the one that is received next may be this one. Active messages are
// consumed as they arrive. If its bytes can't be read: then both sides get the error when the receiver asks for them.
bool goes_by_rts_after(wire kind, shortage reason) noexcept {
  return reason == shortage::none || (kind == wire::send && reason == shortage::packets);
}

// Whether an operation whose send was refused for this reason is tried again as it is. A send of an ordered engine
// waits for a packet, as one whose post answers retry: its program may count on a send that ends before its receive,
// and messages that wait leave packets to others (send_budget.hpp).
bool waits_for_room(device_state& dev, const operation_state& operation, wire kind, shortage reason) noexcept {
  if (!goes_by_rts_after(kind, reason)) return true;
  if (reason != shortage::packets) return false;
  const base::id_entry found = dev.matching().engines().find(operation.sending.id);
  return found.state == base::presence::present && static_cast<engine_state*>(found.object)->is_ordered();
}

status try_post(device_state& dev, const message_request& request, bool eager) noexcept {
  if (!eager) return post_rts(dev, request);
  shortage reason = shortage::none;
  const net::header header = header_of(request.eager, request);
  if (post_eager(dev, request.peer, request.device, header, request.bytes, reason) == net::post_result::ok) {
    return status::done();
  }
  return goes_by_rts_after(request.eager, reason) ? post_rts(dev, request) : status::retry(reason);
}

// All operations are in use, and the post may not answer retry.
[[noreturn]] void refuse_beyond_bound(device_state& dev, const message_request& request) {
  refuse_if_cut_off(dev, request.opcode, request.peer);
  throw_backlog_full(request.opcode, request.peer, dev.operations().posts().count());
}

status post_later(device_state& dev, const message_request& request, bool eager) {
  refuse_if_cut_off(dev, request.opcode, request.peer);
  operation_state* operation = dev.operations().posts().try_get();
  if (operation == nullptr) throw_backlog_full(request.opcode, request.peer, dev.operations().posts().count());
  describe(*operation, request, eager ? request.eager : request.rts);
  if (request.delivered) awaited::begin(dev, *operation);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] until it is added
  dev.defer(*operation, step::post_again);
  return status::posted(ticket);
}

// Signals the completion object of a message that was sent eagerly: now, or by `operation` if the object is full.
status signal_sent(device_state& dev, operation_state& operation, const message_request& request) noexcept {
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] still
  completion_record record = complete::record_of(
      request.opcode, request.peer, request.tag,
      complete::reference_to(request.bytes, request.bytes.bytes(), request.context), request.bytes.memory() != nullptr);
  promise::make(*request.local);
  if (promise::keep(dev, *request.local, record)) {
    dev.runtime().signalled(request.local);
    complete::put_back(dev, operation);
  } else {
    describe(operation, request, request.eager);
    promise::cancel(*request.local);  // promised twice now
    dev.defer(operation, step::try_signal);
  }
  return status::posted(ticket);
}

// Serves callers that want every completion signalled: takes an operation before it sends the message, so that a
// completion object that is full can be signalled later.
status post_and_signal(device_state& dev, const message_request& request) {
  operation_state* operation = dev.operations().posts().try_get();
  shortage reason = shortage::operations;
  if (operation != nullptr) {
    const net::header header = header_of(request.eager, request);
    if (post_eager(dev, request.peer, request.device, header, request.bytes, reason) == net::post_result::ok)
      return signal_sent(dev, *operation, request);
    complete::put_back(dev, *operation);
    if (goes_by_rts_after(request.eager, reason)) {
      const status later = post_rts(dev, request);
      if (!later.is_retry()) return later;
    }
  }
  return request.allow_retry ? status::retry(reason) : post_later(dev, request, true);
}

status try_post_message(device_state& dev, const message_request& request) {
  const bool eager = goes_eagerly(dev, request);
  if (dev.routes().holds_posts_back(request.peer)) [[unlikely]]
    return request.allow_retry ? status::retry(shortage::ring) : post_later(dev, request, eager);
  if (!request.allow_done && eager) return post_and_signal(dev, request);
  const status result = try_post(dev, request, eager);
  if (result.is_retry() && !request.allow_retry) return post_later(dev, request, eager);
  return result;
}

// Serves a receiver-first engine: the send waits here for the RTR of its receive.
status post_to_ready_receive(device_state& dev, const message_request& request, engine_state& engine) {
  dev.runtime().peers().refuse_if_cut_off("post_send", request.peer);
  operation_state* const send = dev.operations().posts().try_get();
  if (send == nullptr) {
    if (request.allow_retry) return status::retry(shortage::operations);
    throw_backlog_full(request.opcode, request.peer, dev.operations().posts().count());
  }
  describe(*send, request, wire::last_chunk);
  if (request.delivered) awaited::begin(dev, *send);
  return receiver_first::match_ready(dev, *send, engine, request.allow_done, request.allow_retry);
}

// All operations are in use: a message that needs none is sent now, or not at all.
status post_in_order_now(device_state& dev, const message_request& request, ordered_numbers& numbers, bool eager) {
  shortage reason = shortage::operations;
  if (eager && request.allow_done) {
    message_request numbered_request = request;
    const auto send = [&](std::uint32_t number) {
      numbered_request.sequence = number;
      return post_eager(dev, request.peer, request.device, header_of(request.eager, numbered_request), request.bytes,
                        reason);
    };
    reason = shortage::lock;
    const numbered result = post_numbered_now(dev, numbers, {request.peer, request.device}, send);
    if (result == numbered::sent) return status::done();
    if (result == numbered::uncredited) reason = shortage::ring;
    if (reason == shortage::none) reason = shortage::operations;  // the RTS needs one
  }
  if (!request.allow_retry) refuse_beyond_bound(dev, request);
  return status::retry(reason);
}

// The ring that takes a message of one piece inline, if it is known.
net::outgoing* ring_for(device_state& dev, const message_request& request) noexcept {
  const bool goes_inline = request.allow_done && !request.delivered && request.bytes.is_ordinary() &&
                           request.bytes.bytes() <= detail::inline_bytes_max;
  return goes_inline ? dev.routes().known_ring({request.peer, request.device}) : nullptr;
}

// A send with an operation in hand, which carries the message if that has a number and is refused: then it is posted.
status post_in_order(device_state& dev, const message_request& request, ordered_numbers& numbers, bool eager) {
  if (net::outgoing* const ring = ring_for(dev, request); ring != nullptr) {
    // The message takes its number once the ring has room, so it needs no operation.
    static_cast<void>(numbered_credits::refill(dev, numbers, {request.peer, request.device}));
    net::header header = header_of(request.eager, request);
    const auto begin = [&] { return numbers.try_take(request.peer, header.sequence); };
    const net::post_result result = ring->push(dev.marks().is_shared(), header, request.bytes.address(),
                                               static_cast<std::uint32_t>(request.bytes.bytes()), false, begin);
    if (result == net::post_result::ok) return status::done();
    if (request.allow_retry) {
      numbered_credits::release_unused(dev, numbers, request.peer);
      return status::retry(shortage_of(result));
    }
  }
  const bool is_held = dev.routes().holds_posts_back(request.peer);
  if (is_held && request.allow_retry) return status::retry(shortage::ring);
  operation_state* const operation = dev.operations().posts().try_get();
  if (operation == nullptr) return post_in_order_now(dev, request, numbers, eager && !is_held);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] until it is out
  message_request numbered_request = request;
  shortage reason = shortage::lock;
  if (!eager) {
    describe(*operation, request, request.rts);
    if (request.delivered) awaited::begin(dev, *operation);
  }
  const auto send = [&](std::uint32_t number) {
    numbered_request.sequence = operation->sending.sequence = number;
    if (is_held) return net::post_result::full;
    if (eager)
      return post_eager(dev, request.peer, request.device, header_of(request.eager, numbered_request), request.bytes,
                        reason);
    const net::post_result result = send_rts(dev, *operation, numbered_request);
    reason = shortage_of(result);
    return result;
  };
  switch (post_numbered(dev, numbers, {request.peer, request.device}, *operation, request.allow_retry, send)) {
    case numbered::sent:
      if (!eager) return status::posted(ticket);
      if (!request.allow_done) return signal_sent(dev, *operation, numbered_request);
      complete::put_back(dev, *operation);
      return status::done();
    case numbered::owed:
      // The number is lost, as all that follow are.
      if (is_cut_off(dev, request.peer)) break;
      numbered_request.sequence = operation->sending.sequence;
      if (eager) describe(*operation, numbered_request, request.eager);
      dev.defer(*operation, step::post_again);
      return status::posted(ticket);
    case numbered::uncredited: reason = shortage::ring; break;
    case numbered::refused:
    case numbered::closed: break;
  }
  if (!eager) promise::cancel(*request.local);
  complete::put_back(dev, *operation);
  if (eager && reason == shortage::none) return post_in_order(dev, request, numbers, false);
  if (!request.allow_retry) refuse_beyond_bound(dev, request);
  return status::retry(reason);
}

status try_post_send(device_state& dev, const message_request& request, engine_state& engine) {
  if (!engine.is_ordered()) return try_post_message(dev, request);
  if (engine.receiver_first) return post_to_ready_receive(dev, request, engine);
  return post_in_order(dev, request, engine.numbers, goes_eagerly(dev, request));
}

}  // namespace

status post_message(device_state& dev, const message_request& request) {
  return unless_cut_off(dev, request.opcode, request.peer,
                        dev.counts().answered(request.opcode, request.bytes.bytes(), try_post_message(dev, request)));
}

status post_send(device_state& dev, const message_request& request, engine_state& engine) {
  if (!engine.is_ordered() && request.allow_retry && ring_for(dev, request) != nullptr) {
    return post_inline::post(dev, request.opcode, {request.peer, request.device}, header_of(request.eager, request),
                             {request.bytes.address(), static_cast<std::size_t>(request.bytes.bytes())});
  }
  return unless_cut_off(
      dev, request.opcode, request.peer,
      dev.counts().answered(request.opcode, request.bytes.bytes(), try_post_send(dev, request, engine)));
}

net::post_result post_eager(device_state& dev, std::uint32_t peer, std::uint32_t device, const net::header& header,
                            const source_payload& bytes, shortage& reason) noexcept {
  WEFT_ASSERT_CHECKED(bytes.bytes() <= dev.memory().packets().packet_bytes());
  const auto count = static_cast<std::uint32_t>(bytes.bytes());
  net::post_result result = net::post_result::full;
  packet_pool& packets = dev.memory().packets();
  if (choose_protocol(count, packets.packet_bytes()) == message_protocol::inlined) {
    if (bytes.is_ordinary()) {
      result = dev.routes().endpoint_to(peer).try_send_inline(peer, device, header, bytes.address(), count);
    } else {
      std::byte gathered[detail::inline_bytes_max];
      if (!bytes.copy_to(gathered, count)) {
        reason = shortage::none;
        return result;
      }
      result = dev.routes().endpoint_to(peer).try_send_inline(peer, device, header, gathered, count);
    }
  } else {
    const std::uint32_t packet = packets.try_get_for(count);
    if (packet == packet_pool::none) {
      reason = shortage::packets;
      return result;
    }
    if (!bytes.copy_to(packets.data(packet), count)) {
      packets.put(packet);
      reason = shortage::none;
      return result;
    }
    result = dev.routes().endpoint_to(peer).try_send(peer, device, header, packet, count);
    if (result == net::post_result::ok) {
      dev.counts().went(path::one_packet, operation::message, count);
    } else {
      packets.put(packet);
    }
  }
  if (result != net::post_result::ok) reason = shortage_of(result);
  return result;
}

// The transport owns the packet after *done*; if its bytes were sent inline, it is back in the pool.
status post_packet(device_state& dev, std::uint32_t peer, std::uint32_t id, std::uint32_t packet, std::uint32_t bytes,
                   const post_packet_options& options) {
  WEFT_ASSERT_CHECKED(peer < dev.rank_count() && packet < dev.memory().packets().count());
  WEFT_ASSERT_CHECKED(bytes <= dev.memory().packets().packet_bytes());
  if (dev.routes().holds_posts_back(peer)) [[unlikely]] {
    return unless_cut_off(dev, operation::active_message, peer,
                          post_inline::answer(dev, operation::active_message, bytes, net::post_result::full));
  }
  const net::header header = active_message_to(id, options.tag);
  packet_pool& packets = dev.memory().packets();
  if (choose_protocol(bytes, packets.packet_bytes()) != message_protocol::inlined) {
    const net::post_result sent = dev.routes().endpoint_to(peer).try_send(peer, options.device, header, packet, bytes);
    if (sent == net::post_result::ok) dev.counts().went(path::one_packet, operation::message, bytes);
    return unless_cut_off(dev, operation::active_message, peer,
                          post_inline::answer(dev, operation::active_message, bytes, sent));
  }
  const net::post_result result =
      dev.routes().endpoint_to(peer).try_send_inline(peer, options.device, header, packets.data(packet), bytes);
  if (result == net::post_result::ok) packets.put(packet);
  return unless_cut_off(dev, operation::active_message, peer,
                        post_inline::answer(dev, operation::active_message, bytes, result));
}

bool try_post_rts(device_state& dev, const message_request& request) noexcept {
  return post_rts(dev, request).is_posted();
}

bool post_again(device_state& dev, operation_state& operation) noexcept {
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] until it is out
  if (withdraw_rts::is_unwanted(dev, operation)) [[unlikely]] {
    operation.error = errc::cancelled;
    operation.reach(step::try_signal);
    return complete::try_signal(dev, operation);
  }
  if (!numbered_credits::may_send(dev, operation, operation.sending.id)) [[unlikely]]
    return false;
  net::header header{.kind = operation.sending.kind,
                     .id = operation.sending.id,
                     .sequence = operation.sending.sequence,
                     .tag = operation.tag};
  const wire kind = kind_of(operation.sending.kind);
  if (kind == wire::withdraw_rtr) return receiver_first::ask_again(dev, operation);
  if (kind == wire::active_message || kind == wire::send) {
    shortage reason = shortage::packets;
    const bool wants_rts = kind == wire::send && operation.bytes > detail::inline_bytes_max &&
                           dev.matching().unexpected().budget().must_send_rts(operation.peer);
    if (!wants_rts && post_eager(dev, operation.peer, operation.device, header, operation.sending.source, reason) ==
                          net::post_result::ok) {
      operation.reach(step::try_signal);
      return complete::try_signal(dev, operation);
    }
    if (!wants_rts && waits_for_room(dev, operation, kind, reason)) return false;
    header.kind = kind_word(kind == wire::send ? wire::send_rts : wire::rts, policy_of(operation.sending.kind));
    operation.sending.kind = header.kind;
  }
  const announced_memory from = announced(operation.sending.source);
  const rts_body body{from.address, operation.bytes, ticket, operation.copying.acknowledge, from.pieces};
  const std::uint32_t peer = operation.peer;
  const std::uint32_t device = operation.device;
  header.kind = asking_word(header.kind, dev.index());
  header.note = operation_pool::note_of(ticket);
  return send_and_wait(dev, operation, step::wait_for_answer, step::post_again,
                       [&] { return dev.routes().try_send_body(peer, device, header, body); }) == net::post_result::ok;
}

}  // namespace weft::core::post_message

namespace weft::core {

void throw_backlog_full(operation opcode, std::uint32_t peer, std::uint32_t count) {
  throw error{errc::backlog_full,
              fmt::format("a post ({}) to rank {} may not answer retry, but {} operations are under way already: call "
                          "progress() before posting more, or raise WEFT_STATE_BYTES_MAX, and WEFT_OPERATIONS_MAX or "
                          "WEFT_RECEIVES_MAX where they are set",
                          name_of(opcode), peer, count)};
}

}  // namespace weft::core
