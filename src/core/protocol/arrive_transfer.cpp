// Puts, gets and remote atomics at their target, where they come as messages, and the signals of those that don't.
//
// Whoever asked gets an answer in any case; so an operation to answer with is taken first.
#include <cstring>

#include "core/device/device_state.hpp"
#include "core/message/message_body.hpp"
#include "core/protocol/remote_atomic.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

// What a signal tells: which bytes of a region of this rank's, by whom, under which tag.
completion_record record_of(operation what, const net::arrival& message, std::byte* data,
                            std::uint64_t bytes) noexcept {
  detail::raw_record raw;
  raw.peer = message.source;
  raw.what = what;
  raw.place = detail::payload_place::borrowed;
  raw.tag = message.header.tag;
  raw.refer({data, data != nullptr ? bytes : 0, nullptr, nullptr, bytes});
  return completion_record{raw};
}

}  // namespace

operation_state* device_state::arrival_operation(const net::arrival& message) noexcept {
  operation_state* const out = runtime_->arrivals().try_get();
  if (out == nullptr) return nullptr;
  out->peer = message.source;
  out->device = net::any_device;
  out->tag = message.header.tag;
  out->bytes = 0;
  return out;
}

// So what comes after it from the same peer is not held up: that may be what frees an operation.
bool device_state::put_aside(const net::arrival& message) noexcept {
  if (redelivering_ || !runtime_->unexpected().put_aside(message)) return false;
  runtime_->parking().stir(index_);  // whoever sleeps here is to deliver it
  give_back(message);
  return true;
}

bool device_state::on_signal(const net::arrival& message) noexcept {
  signal_body body;
  if (!read_body(message, body)) return refuse(message);
  const target to = target_of(message);
  if (to.what != fate::deliver) {
    if (to.what == fate::unwanted) runtime_->count_dropped();
    return to.what != fate::no_room;
  }
  const bool is_put = kind_of(message.header.kind) == wire::put_signal;
  std::byte* const data = runtime_->regions().find(body.region, body.offset, body.bytes);
  completion_record record =
      record_of(is_put ? operation::put_signal : operation::get_signal, message, data, body.bytes);
  completion* const object = to.entry->target;
  if (object->signal(std::move(record)) != completion::answer::taken) return false;
  runtime_->signalled(object);
  return true;
}

bool device_state::on_put(const net::arrival& message) noexcept {
  put_body body;
  // A payload of up to 40 bytes may come without a packet: transports are free to.
  if (!read_head(message, body)) return refuse(message);
  const std::uint64_t bytes = message.bytes - sizeof body;
  target to{fate::unwanted, nullptr};
  if (message.header.id != no_signal) {
    to = target_of(message);
    if (to.what == fate::no_room) return false;
    if (to.what == fate::kept) {
      give_back(message);
      return true;
    }
    if (to.what == fate::unwanted) runtime_->count_dropped();
  }
  operation_state* const answer = arrival_operation(message);
  if (answer == nullptr) return put_aside(message);
  std::byte* const data = runtime_->regions().find(body.region, body.offset, bytes);
  if (data == nullptr) {
    answer->error = errc::region_refused;
  } else {
    if (bytes != 0) std::memcpy(data, message.payload + sizeof body, bytes);
    if (to.what == fate::deliver) {
      completion_record record = record_of(operation::put_signal, message, data, bytes);
      completion* const object = to.entry->target;  // a handler may withdraw its own entry
      if (object->signal(std::move(record)) != completion::answer::taken) {
        runtime_->put_back(*answer);
        return false;  // comes again, and writes the same again, which nobody has been told of yet
      }
      runtime_->signalled(object);
    }
  }
  give_back(message);
  answer->remote_ticket = body.ticket;
  if (!send_fin(*answer)) take_up(*answer, step::send_fin);
  return true;
}

// The operation that goes on with a long put or get, with a place in the region; null where the message is dealt with,
// and then `consumed` is the answer to the transport.
operation_state* device_state::begin_region(const net::arrival& message, const put_rts_body& body, operation what,
                                            bool& consumed) noexcept {
  consumed = true;
  target to{fate::unwanted, nullptr};
  if (message.header.id != no_signal) {
    to = target_of(message);
    if (to.what == fate::no_room) consumed = false;
    if (to.what == fate::no_room || to.what == fate::kept) return nullptr;
    if (to.what == fate::unwanted) runtime_->count_dropped();
  }
  operation_state* const out = arrival_operation(message);
  if (out == nullptr) {
    consumed = put_aside(message);
    return nullptr;
  }
  out->what = what;
  out->remote_ticket = body.ticket;
  std::byte* const data = runtime_->regions().find(body.region, body.offset, body.bytes);
  if (data == nullptr) {
    out->error = errc::region_refused;
    take_up(*out, step::send_fin);
    return nullptr;
  }
  out->bytes = body.bytes;
  out->message_bytes = body.bytes;
  out->source = const_buffer_ref{data, static_cast<std::size_t>(body.bytes)};
  out->into = buffer_ref{data, static_cast<std::size_t>(body.bytes)};
  if (to.what == fate::deliver) out->will_signal(*to.entry->target);
  return out;
}

bool device_state::on_put_rts(const net::arrival& message) noexcept {
  put_rts_body body;
  if (!read_body(message, body)) return refuse(message);
  bool consumed = true;
  operation_state* const receiver = begin_region(message, body, operation::put_signal, consumed);
  if (receiver == nullptr) return consumed;
  receiver->acknowledge = true;
  take_up(*receiver, step::send_rtr);
  return true;
}

bool device_state::on_get(const net::arrival& message) noexcept {
  put_rts_body body;
  if (!read_body(message, body)) return refuse(message);
  bool consumed = true;
  operation_state* const sender = begin_region(message, body, operation::get_signal, consumed);
  if (sender == nullptr) return consumed;
  take_up(*sender, step::stream);
  return true;
}

bool device_state::on_atomic(const net::arrival& message) noexcept {
  atomic_body body;
  const std::uint32_t code = message.header.sequence;
  if (!read_body(message, body) || !is_atomic_code(code)) return refuse(message);
  operation_state* const answer = arrival_operation(message);
  if (answer == nullptr) return put_aside(message);
  std::byte* const data = runtime_->regions().find(body.region, body.offset, code >> 8);
  answer->remote_ticket = body.ticket;
  if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % (code >> 8) != 0) {
    answer->error = errc::region_refused;
  } else {
    answer->operand = apply_atomic(data, code, body.operand, body.compare);
  }
  if (!answer_atomic(*answer)) take_up(*answer, step::answer_atomic);
  return true;
}

bool device_state::answer_atomic(operation_state& operation) noexcept {
  const net::header what{.kind = static_cast<std::uint32_t>(wire::atomic_result)};
  const atomic_result_body body{operation.remote_ticket, operation.operand,
                                static_cast<std::uint64_t>(operation.error)};
  if (inject(operation.peer, operation.device, what, body) != net::post_result::ok) return false;
  runtime_->put_back(operation);
  return true;
}

bool device_state::on_atomic_result(const net::arrival& message) noexcept {
  atomic_result_body body;
  operation_state* const operation = answered(message, body);
  if (operation == nullptr) return true;
  operation->error = error_of(body.error);
  if (operation->error == errc::none && operation->into.bytes() <= sizeof body.value) {
    operation->into.copy_from(reinterpret_cast<const std::byte*>(&body.value), 0,
                              static_cast<std::size_t>(operation->into.bytes()));
  }
  if (!signal(*operation)) take_up(*operation, step::signal);
  return true;
}

}  // namespace weft::core
