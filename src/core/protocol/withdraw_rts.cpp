// SPDX-License-Identifier: BSD-3-Clause
// The sender asks, the target decides: a message ends by one FIN, whether it was received or given up.
//
// Messages between two ranks have no order, so the request may arrive before its RTS. The target remembers no requests:
// it answers whether it has begun to receive the message, or does not know of it (yet, or any more), and the sender may
// ask again. A message in an ordered engine has a number that its target waits for, so it is sent in any case, and
// asked back then.
//
// Cost at the target: one bucket of the matching table; if the RTS is not there, a look at all operations.
#include "core/protocol/withdraw_rts.hpp"

#include "core/message/message_body.hpp"
#include "core/protocol/advance.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/receive.hpp"
#include "core/runtime/matching_store.hpp"

namespace weft::core::withdraw_rts {

namespace {

bool is_rts(std::uint32_t kind) noexcept { return kind_of(kind) == wire::rts || kind_of(kind) == wire::send_rts; }

// Values of `operation_state::asked_back`.
constexpr std::uint64_t request(std::uint64_t ticket, back_request state) noexcept {
  return operation_pool::request_of(ticket, state);
}

// The state of the request for the use with this ticket. The word is of the last use that was asked back. An older one
// has another generation, whose number may be larger: generations wrap.
back_request state_for(std::uint64_t asked_back, std::uint64_t ticket) noexcept {
  return asked_back >> 32 == ticket >> 32 ? static_cast<back_request>(asked_back & 0xffff'ffff) : back_request::none;
}

bool has_ticket(const unexpected_message& message, std::uint32_t source, std::uint64_t ticket) noexcept {
  if (kind_of(message.arrival.header.kind) != wire::send_rts || message.arrival.source != source) return false;
  rts_body body;
  std::memcpy(&body, message.inlined, sizeof body);
  return body.ticket == ticket;
}

// Takes an unexpected RTS out of its engine.
match_result take_unexpected(device_state& dev, const net::arrival& message, std::uint64_t ticket,
                             unexpected_message*& out) noexcept {
  const base::id_entry found = dev.matching().engines().find(message.header.id);
  if (found.state != base::presence::present) return match_result::none;
  engine_state& engine = *static_cast<engine_state*>(found.object);
  if (engine.receiver_first) return match_result::none;
  match_result result = match_result::none;
  if (engine.is_ordered()) {
    ordered_message* taken = nullptr;
    matched_messages released;
    result = engine.ordered->take_by_name(engine.id, message.source, ticket, taken, released);
    arrive_send::deliver_all(dev, released);
    out = static_cast<unexpected_message*>(taken);
    return result;
  }
  const match_key key =
      engine.key_of(static_cast<match_policy>(policy_of(message.header.kind)), message.source, message.header.tag);
  match_node* taken = nullptr;
  result = dev.matching().table().take_meant(
      key, match_side::send,
      [&](const match_node& each) {
        return has_ticket(static_cast<const unexpected_message&>(static_cast<const ordered_message&>(each)),
                          message.source, ticket);
      },
      taken);
  out = static_cast<unexpected_message*>(static_cast<ordered_message*>(taken));
  return result;
}

// Whether an operation here receives the message, or has received it and is used again. It may end at any moment, which
// its sender learns by FIN.
bool is_begun(device_state& dev, std::uint32_t source, std::uint64_t ticket) noexcept {
  bool out = false;
  dev.operations().each([&](const operation_state& each) {
    out = out || (each.set() != operation_set::posts && each.copying.remote_ticket == ticket && each.peer == source);
  });
  return out;
}

}  // namespace

cancel_answer ask(device_state& dev, std::uint64_t ticket) noexcept {
  operation_pool& posts = dev.operations().posts();
  operation_state* const unsent = posts.find(ticket, step::post_again);
  if (unsent != nullptr) {
    std::uint64_t before = unsent->sending.asked_back.load(std::memory_order_relaxed);  // [hint] looked at again
    // [withdraw.unwanted] relaxed -> [withdraw.is_unwanted]: a request, which the backlog sees at the next step.
    // If the use has just ended, this may replace the request of the next one, which is then asked for again.
    if (state_for(before, ticket) == back_request::none)
      unsent->sending.asked_back.compare_exchange_strong(before, request(ticket, back_request::wanted),
                                                         std::memory_order_relaxed);
    return cancel_answer::busy;
  }
  operation_state* const sent = posts.find(ticket, step::wait_for_answer);
  if (sent == nullptr || !is_rts(sent->sending.kind)) return cancel_answer::too_late;
  // These fields may belong to another operation by now: then the target does not know the ticket.
  const std::uint32_t peer = sent->peer;
  const net::header header{
      .kind = asking_word(kind_word(wire::withdraw_rts, policy_of(sent->sending.kind)), dev.index()),
      .id = sent->sending.id,
      .tag = sent->tag};
  const withdraw_rts_body body{ticket, kind_of(sent->sending.kind) == wire::send_rts};
  // [hint] the exchange looks again.
  std::uint64_t before = sent->sending.asked_back.load(std::memory_order_relaxed);
  const back_request state = state_for(before, ticket);
  if (state == back_request::refused) return cancel_answer::too_late;
  if (state == back_request::asked) return cancel_answer::busy;
  // [withdraw.ask] relaxed -> [withdraw.answered]: before the message that is answered.
  if (!sent->sending.asked_back.compare_exchange_strong(before, request(ticket, back_request::asked),
                                                        std::memory_order_relaxed)) {
    return cancel_answer::busy;  // another thread asks
  }
  if (dev.routes().try_send_body(peer, net::any_device, header, body) != net::post_result::ok) {
    std::uint64_t mine = request(ticket, back_request::asked);
    // [withdraw.unasked] relaxed: as [withdraw.ask].
    sent->sending.asked_back.compare_exchange_strong(mine, request(ticket, back_request::wanted),
                                                     std::memory_order_relaxed);
  }
  return cancel_answer::busy;
}

bool is_unwanted(device_state& dev, const operation_state& unsent) noexcept {
  const std::uint64_t ticket = unsent.ticket.load(std::memory_order_relaxed);  // [own] in the backlog
  // [withdraw.is_unwanted] relaxed <- [withdraw.unwanted]: a request that comes later goes to the target.
  if (state_for(unsent.sending.asked_back.load(std::memory_order_relaxed), ticket) == back_request::none) return false;
  const wire kind = kind_of(unsent.sending.kind);
  if (kind == wire::active_message || kind == wire::rts) return true;
  const base::id_entry found = dev.matching().engines().find(unsent.sending.id);
  return found.state != base::presence::present || !static_cast<engine_state*>(found.object)->is_ordered();
}

bool on_withdraw_rts(device_state& dev, const net::arrival& message) noexcept {
  withdraw_rts_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  operation_state* const answer = arrive::get_operation(dev, message);
  if (answer == nullptr) return arrive::put_aside(dev, message);
  const wire kind = body.is_send != 0 ? wire::send_rts : wire::rts;
  bool is_given_up = dev.matching().kept().drop_rts(message.source, kind, body.ticket);
  unexpected_message* taken = nullptr;
  if (!is_given_up && body.is_send != 0 && take_unexpected(dev, message, body.ticket, taken) == match_result::busy) {
    complete::put_back(dev, *answer);
    return false;
  }
  if (taken != nullptr) {
    dev.matching().unexpected().put(*taken);
    is_given_up = true;
  }
  answer->copying.remote_ticket = 0;
  answer->answering.has_begun = !is_given_up && is_begun(dev, message.source, body.ticket);
  answer->copying.remote_ticket = body.ticket;  // set after `is_begun`, which looks at this operation as well
  if (is_given_up) answer->error = errc::cancelled;
  dev.defer(*answer, is_given_up ? step::send_fin : step::answer_withdraw);
  return true;
}

bool answer_withdraw(device_state& dev, operation_state& answer) noexcept {
  const net::header header{.kind = static_cast<std::uint32_t>(wire::withdraw_answer)};
  const withdraw_answer_body body{answer.copying.remote_ticket, answer.answering.has_begun};
  if (dev.routes().try_send_body(answer.peer, answer.device, header, body) != net::post_result::ok) return false;
  answer.copying.remote_ticket = 0;  // `is_begun` is not to find it in a later use
  complete::put_back(dev, answer);
  return true;
}

bool on_withdraw_answer(device_state& dev, const net::arrival& message) noexcept {
  withdraw_answer_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  operation_state* const sent = dev.operations().posts().find(body.ticket, message.source, step::wait_for_answer);
  if (sent == nullptr) return true;  // FIN was faster
  std::uint64_t asked = request(body.ticket, back_request::asked);
  const back_request next = body.is_begun != 0 ? back_request::refused : back_request::wanted;
  // [withdraw.answered] relaxed <- [withdraw.ask]: only while this operation has asked.
  sent->sending.asked_back.compare_exchange_strong(asked, request(body.ticket, next), std::memory_order_relaxed);
  return true;
}

}  // namespace weft::core::withdraw_rts
