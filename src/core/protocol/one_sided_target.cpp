// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and remote atomics that reach their target as messages, and the signals of puts and gets that do not.
//
// The origin always gets an answer, so an operation to answer with is taken first.
#include "core/protocol/one_sided_target.hpp"

#include <cstring>

#include "core/device/device_state.hpp"
#include "core/message/message_body.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/remote_atomic.hpp"
#include "core/protocol/rendezvous.hpp"
#include "core/runtime/rank_memory.hpp"

namespace weft::core::one_sided_target {

namespace {

// The record of a signal: the bytes of this rank's region, the origin, and its tag.
completion_record record_with(operation opcode, const net::arrival& message, std::byte* data,
                              std::uint64_t bytes) noexcept {
  return complete::record_of(opcode, message.source, message.header.tag,
                             {data, data != nullptr ? bytes : 0, nullptr, nullptr, bytes});
}

// The operation that continues a long put or get, with the region's memory. Null: the message has been handled, and
// `consumed` is the answer to the transport.
operation_state* begin_region(device_state& dev, const net::arrival& message, const put_rts_body& body,
                              operation opcode, bool& consumed) noexcept {
  consumed = true;
  found_entry to{lookup::withdrawn, nullptr};
  if (message.header.id != no_signal) {
    to = arrive::find_entry(dev, message);
    if (to.state == lookup::no_room) consumed = false;
    if (to.state == lookup::no_room || to.state == lookup::kept) return nullptr;
    if (to.state == lookup::withdrawn) arrive::count_dropped(dev);
  }
  operation_state* const out = arrive::get_operation(dev, message);
  if (out == nullptr) {
    consumed = arrive::put_aside(dev, message);
    return nullptr;
  }
  out->opcode = opcode;
  out->copying.begin(0, 0);  // travels in packets; none has failed
  out->copying.remote_ticket = body.ticket;
  std::byte* const data = dev.memory().regions().find(body.region, body.offset, body.bytes);
  if (data == nullptr) {
    rendezvous::refuse(dev, *out, body.ticket, errc::region_refused);
    return nullptr;
  }
  out->bytes = body.bytes;
  out->receiving.message_bytes = body.bytes;
  out->sending.source = const_buffer_ref{data, static_cast<std::size_t>(body.bytes)};
  out->receiving.into = buffer_ref{data, static_cast<std::size_t>(body.bytes)};
  if (to.state == lookup::found) out->will_signal(*to.entry->target);
  return out;
}

}  // namespace

bool on_signal(device_state& dev, const net::arrival& message) noexcept {
  signal_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  const found_entry to = arrive::find_entry(dev, message);
  if (to.state != lookup::found) {
    if (to.state == lookup::withdrawn) arrive::count_dropped(dev);
    return to.state != lookup::no_room;
  }
  const bool is_put = kind_of(message.header.kind) == wire::put_signal;
  std::byte* const data = dev.memory().regions().find(body.region, body.offset, body.bytes);
  return complete::try_signal(
      dev, *to.entry->target,
      record_with(is_put ? operation::put_signal : operation::get_signal, message, data, body.bytes));
}

bool on_put(device_state& dev, const net::arrival& message) noexcept {
  put_body body;
  // A transport may deliver a payload of up to 40 bytes without a packet.
  if (!read_head(message, body)) return arrive::reject(dev, message);
  const std::uint64_t bytes = message.bytes - sizeof body;
  found_entry to{lookup::withdrawn, nullptr};
  if (message.header.id != no_signal) {
    to = arrive::find_entry(dev, message);
    if (to.state == lookup::no_room) return false;
    if (to.state == lookup::kept) {
      give_back(message);
      return true;
    }
    if (to.state == lookup::withdrawn) arrive::count_dropped(dev);
  }
  operation_state* const answer = arrive::get_operation(dev, message);
  if (answer == nullptr) return arrive::put_aside(dev, message);
  std::byte* const data = dev.memory().regions().find(body.region, body.offset, bytes);
  if (data == nullptr) {
    answer->error = errc::region_refused;
  } else {
    if (bytes != 0) std::memcpy(data, message.payload + sizeof body, bytes);
    if (to.state == lookup::found) {
      if (!complete::try_signal(dev, *to.entry->target, record_with(operation::put_signal, message, data, bytes))) {
        complete::put_back(dev, *answer);
        return false;  // delivered again, and the same bytes are written again, before the signal is given
      }
    }
  }
  give_back(message);
  answer->copying.remote_ticket = body.ticket;
  if (!rendezvous::send_fin(dev, *answer)) dev.defer(*answer, step::send_fin);
  return true;
}

bool on_put_rts(device_state& dev, const net::arrival& message) noexcept {
  put_rts_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  bool consumed = true;
  operation_state* const receiver = begin_region(dev, message, body, operation::put_signal, consumed);
  if (receiver == nullptr) return consumed;
  receiver->copying.acknowledge = true;
  receiver->copying.chosen_at = 0;  // there is no choice
  dev.defer(*receiver, step::send_rtr);
  return true;
}

bool on_get(device_state& dev, const net::arrival& message) noexcept {
  put_rts_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  bool consumed = true;
  operation_state* const sender = begin_region(dev, message, body, operation::get_signal, consumed);
  if (sender == nullptr) return consumed;
  dev.defer(*sender, step::stream);
  return true;
}

bool on_atomic(device_state& dev, const net::arrival& message) noexcept {
  atomic_body body;
  const std::uint32_t code = message.header.sequence;
  if (!read_body(message, body) || !is_atomic_code(code)) return arrive::reject(dev, message);
  operation_state* const answer = arrive::get_operation(dev, message);
  if (answer == nullptr) return arrive::put_aside(dev, message);
  std::byte* const data = dev.memory().regions().find(body.region, body.offset, code >> 8);
  answer->copying.remote_ticket = body.ticket;
  if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % (code >> 8) != 0) {
    answer->error = errc::region_refused;
  } else {
    answer->answering.old_word = apply_atomic(data, {code, body.operand, body.compare});
  }
  if (!answer_atomic(dev, *answer)) dev.defer(*answer, step::answer_atomic);
  return true;
}

bool answer_atomic(device_state& dev, operation_state& operation) noexcept {
  const net::header header{.kind = static_cast<std::uint32_t>(wire::atomic_result)};
  const atomic_result_body body{operation.copying.remote_ticket, operation.answering.old_word,
                                static_cast<std::uint64_t>(operation.error)};
  if (dev.routes().try_send_body(operation.peer, operation.device, header, body) != net::post_result::ok) return false;
  complete::put_back(dev, operation);
  return true;
}

bool on_atomic_result(device_state& dev, const net::arrival& message) noexcept {
  atomic_result_body body;
  operation_state* const operation = arrive::answered(dev, message, body);
  if (operation == nullptr) return true;
  operation->error = arrive::error_of(body.error);
  if (operation->error == errc::none && operation->receiving.into.bytes() <= sizeof body.value) {
    static_cast<void>(operation->receiving.into.copy_from(  // a word in ordinary memory
        reinterpret_cast<const std::byte*>(&body.value), static_cast<std::size_t>(operation->receiving.into.bytes())));
  }
  complete::signal_or_defer(dev, *operation);
  return true;
}

}  // namespace weft::core::one_sided_target
