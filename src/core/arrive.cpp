// What an arriving message does. Every function answers like `net::arrival_sink::on_message`: true if the message is
// consumed, false if there is no room and the transport is to keep it.
//
// Cost of 8 bytes: one probe of the table of ids, a record of one cache line, and the signal.
#include <algorithm>
#include <cstring>

#include "core/device_state.hpp"
#include "core/runtime_state.hpp"
#include "net/transports.hpp"

namespace weft::core {
namespace {

// Reads the body of a message of the library's own; false where it has another size.
template <class Body>
bool read_body(const net::arrival& message, Body& out) noexcept {
  if (message.owner != nullptr || message.bytes != sizeof out) return false;
  std::memcpy(&out, message.payload, sizeof out);
  return true;
}

void give_back(net::arrival message) noexcept {
  if (message.owner != nullptr) message.owner->release(const_cast<std::byte*>(message.payload), message.bytes);
}

}  // namespace

[[gnu::always_inline]] inline bool device_state::deliver(remote_entry& to, net::arrival message) noexcept {
  if (to.queue != nullptr && message.owner == nullptr) [[likely]] {
    const std::uint64_t head =
        detail::record_head(message.source, operation::message, detail::payload_place::in_record, message.bytes);
    return to.queue->try_push_parts(head, message.header.tag, message.payload, (message.bytes + 7) / 8);
  }
  return deliver_record(to, message);
}

// To any completion object, of any size.
[[gnu::noinline]] bool device_state::deliver_record(remote_entry& to, net::arrival message) noexcept {
  completion_record record;
  detail::raw_record& raw = record.raw();
  raw.peer = message.source;
  raw.what = operation::message;
  raw.tag = message.header.tag;
  if (message.owner == nullptr) {
    raw.inline_bytes = static_cast<std::uint8_t>(message.bytes);
    detail::copy_inline(raw.payload, message.payload, message.bytes);
  } else {
    raw.place = detail::payload_place::owned;
    raw.refer({const_cast<std::byte*>(message.payload), message.bytes, message.owner, nullptr});
  }
  if (to.target->signal(std::move(record)) == completion::answer::taken) [[likely]]
    return true;
  record.detach();  // the transport keeps the payload
  return false;
}

[[gnu::always_inline]] inline bool device_state::on_message(net::arrival message) noexcept {
  if (message.header.kind == static_cast<std::uint32_t>(wire::active_message)) [[likely]] {
    auto* entry = static_cast<remote_entry*>(runtime_->remote_completions().find_at_once(message.header.id));
    if (entry != nullptr) [[likely]]
      return deliver(*entry, message);
  }
  return on_other_message(message);
}

[[gnu::noinline]] bool device_state::on_other_message(net::arrival message) noexcept {
  switch (static_cast<wire>(message.header.kind)) {
    case wire::active_message: return on_active_message(message);
    case wire::offer: return on_offer(message);
    case wire::finished: return on_finished(message);
    case wire::copy_request: return on_copy_request(message);
    case wire::chunk: return on_chunk(message);
  }
  runtime_->count_refused();
  give_back(message);
  return true;
}

device_state::target device_state::target_of(net::arrival message) noexcept {
  for (;;) {
    const detail::id_entry found = runtime_->remote_completions().look_up(message.header.id);
    if (found.state == detail::presence::present) return {fate::deliver, static_cast<remote_entry*>(found.object)};
    if (found.state == detail::presence::withdrawn) return {fate::unwanted, nullptr};
    switch (runtime_->unexpected().keep(message, runtime_->remote_completions())) {
      case unexpected_messages::answer::kept: return {fate::kept, nullptr};
      case unexpected_messages::answer::no_room: return {fate::no_room, nullptr};
      case unexpected_messages::answer::no_longer_unexpected: break;  // registered this very moment: look again
    }
  }
}

bool device_state::on_active_message(net::arrival message) noexcept {
  const target to = target_of(message);
  if (to.what != fate::deliver) {
    if (to.what == fate::no_room) return false;
    if (to.what == fate::unwanted) runtime_->count_dropped();
    give_back(message);
    return true;
  }
  return deliver(*to.entry, message);
}

bool device_state::on_offer(net::arrival message) noexcept {
  offer_body body;
  if (!read_body(message, body) || body.bytes == 0) {
    runtime_->count_refused();
    give_back(message);
    return true;
  }
  const target to = target_of(message);
  if (to.what == fate::no_room) return false;
  if (to.what == fate::kept) return true;
  operation_state* operation = runtime_->arrivals().try_get();
  if (operation == nullptr) return !redelivering_ && runtime_->unexpected().put_aside(message);
  operation->is_arrival = true;
  operation->peer = message.source;
  operation->device = net::any_device;
  operation->tag = message.header.tag;
  operation->bytes = body.bytes;
  operation->remote_address = body.address;
  operation->remote_ticket = body.ticket;
  operation->context = nullptr;
  if (to.what == fate::unwanted) {
    // The sender gets its buffer back, and is told.
    runtime_->count_dropped();
    operation->target = nullptr;
    operation->buffer = nullptr;
    operation->error = errc::unknown_completion;
    take_up(*operation, step::announce);
    return true;
  }
  operation->owner = &to.entry->owner;
  operation->buffer = static_cast<std::byte*>(
      to.entry->owner.allocate(static_cast<std::size_t>(body.bytes), message.source, message.header.tag));
  if (operation->buffer == nullptr) {
    runtime_->put_back(*operation);
    return false;
  }
  operation->will_signal(*to.entry->target);
  take_up(*operation, step::fetch);
  return true;
}

// The operation whose offer `message` answers; null where there is none, and then the message is refused.
template <class Body>
operation_state* device_state::answered(net::arrival message, Body& body) noexcept {
  if (read_body(message, body)) {
    operation_state* found = runtime_->operations().find(body.ticket, message.source, step::wait_for_answer);
    if (found != nullptr) return found;
  }
  runtime_->count_refused();
  give_back(message);
  return nullptr;
}

bool device_state::on_finished(net::arrival message) noexcept {
  finished_body body;
  operation_state* const operation = answered(message, body);
  if (operation == nullptr) return true;
  operation->error = body.error == 0 || body.error > static_cast<std::uint64_t>(errc::unknown_completion)
                         ? errc::none
                         : static_cast<errc>(body.error);
  if (!signal(*operation)) take_up(*operation, step::signal);
  return true;
}

bool device_state::on_copy_request(net::arrival message) noexcept {
  copy_request_body body;
  operation_state* const operation = answered(message, body);
  if (operation == nullptr) return true;
  operation->remote_ticket = body.receiver_ticket;
  take_up(*operation, step::stream);
  return true;
}

bool device_state::on_chunk(net::arrival message) noexcept {
  const std::uint64_t offset = std::uint64_t{message.header.sequence} << 32 | message.header.id;
  operation_state* operation = runtime_->arrivals().find(message.header.tag, message.source, step::wait_for_chunks);
  if (operation == nullptr || offset > operation->bytes || message.bytes > operation->bytes - offset) {
    runtime_->count_refused();
    give_back(message);
    return true;
  }
  std::memcpy(operation->buffer + offset, message.payload, message.bytes);
  const std::uint32_t bytes = message.bytes;
  give_back(message);
  // [chunk.count] acq_rel -> [chunk.count]: whoever copies the last chunk sees all others in the buffer.
  if (operation->moved.fetch_add(bytes, std::memory_order_acq_rel) + bytes == operation->bytes) {
    if (!signal(*operation)) take_up(*operation, step::signal);
  }
  return true;
}

// Here, where the endpoints' polls are compiled together with what an arrival does.
void device_state::open_endpoints() {
  for (const auto& transport : runtime_->transports()) {
    endpoints_.push_back(net::open_endpoint<device_state>(*transport, index_, shared_));
    for (std::uint32_t rank = 0; rank < runtime_->size(); ++rank) {
      if (ways_[rank] == nullptr && transport->reaches(rank)) ways_[rank] = endpoints_.back().get();
    }
  }
}

bool device_state::on_kept_message(net::arrival message) noexcept {
  redelivering_ = true;
  const bool consumed = on_message(message);
  redelivering_ = false;
  return consumed;
}

bool unexpected_messages::hand_over(device_state& to, net::arrival message) noexcept {
  return to.on_kept_message(message);
}

}  // namespace weft::core
