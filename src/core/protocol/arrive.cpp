// What an arriving message does. Every function answers like `net::arrival_sink::on_message`: true if the message is
// consumed, false if there is no room and the transport is to keep it.
//
// Cost of 8 bytes: one probe of the table of ids, a record of one cache line, and the signal.
#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "core/device/device_state.hpp"
#include "core/fast/take_send.hpp"
#include "core/message/message_body.hpp"
#include "core/runtime/runtime_state.hpp"
#include "net/transports.hpp"

namespace weft::core {
// The shortest way: an active message of one word goes into its queue's slot. Null: nothing has happened.
[[gnu::always_inline]] inline const void* device_state::take_word(std::uint32_t source, std::uint32_t id,
                                                                  const std::byte* tag_and_payload) noexcept {
  const auto* to = static_cast<remote_entry*>(runtime_->remote_completions().find_at_once(id));
  if (to == nullptr || to->queue == nullptr) return nullptr;
  constexpr std::uint64_t head =
      detail::record_head(0, operation::message, detail::payload_place::in_record, net::word_bytes);
  const completion* const object = to->target;
  const bool pushed = to->queue->try_push_at_once([&](auto& slot) {
    slot.put(0, head | source);
    slot.put_from(1, tag_and_payload);
    slot.put_from(2, tag_and_payload + sizeof(std::uint64_t));
  });
  return pushed ? object : nullptr;
}

[[gnu::always_inline]] inline bool device_state::is_awaited(const void* signalled) const noexcept {
  return runtime_->parking().is_awaited(static_cast<const completion*>(signalled));
}

void device_state::wake_awaiting(const void* signalled) noexcept {
  runtime_->signalled(static_cast<const completion*>(signalled));
}

// Short messages, which most are: an active message goes into its queue's slot without a detour, a send to its receive.
[[gnu::always_inline]] inline bool device_state::take_at_once(std::uint32_t source, const net::header& what,
                                                              const std::byte* payload, std::uint32_t bytes,
                                                              bool& consumed) noexcept {
  if (what.kind != static_cast<std::uint32_t>(wire::active_message)) {
    const std::uint32_t policy = what.kind >> 8;
    if (kind_of(what.kind) != wire::send || what.id != default_matching_engine ||
        policy > static_cast<std::uint32_t>(match_policy::none)) {
      return false;
    }
    consumed = take_send_at_once(source, static_cast<match_policy>(policy), what.tag, payload, bytes);
    if (consumed) counts_.took(bytes);
    return true;
  }
  const auto* to = static_cast<remote_entry*>(runtime_->remote_completions().find_at_once(what.id));
  if (to == nullptr || to->queue == nullptr) return false;
  const std::uint64_t head = detail::record_head(source, operation::message, detail::payload_place::in_record, bytes);
  completion* const object = to->target;
  consumed = to->queue->try_push_parts(head, what.tag, payload, (bytes + 7) / 8);
  runtime_->signalled(object);
  if (consumed) [[likely]]
    counts_.took(bytes);
  return true;
}

// To any completion object, of any size.
bool device_state::deliver(remote_entry& to, const net::arrival& message) noexcept {
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
  completion* const object = to.target;
  if (object->signal(std::move(record)) == completion::answer::taken) [[likely]] {
    runtime_->signalled(object);
    return true;
  }
  record.detach();  // the transport keeps the payload
  return false;
}

bool device_state::take(const net::arrival& message) noexcept {
  switch (kind_of(message.header.kind)) {
    case wire::active_message: return on_active_message(message);
    case wire::rts: return on_rts(message);
    case wire::fin: return on_fin(message);
    case wire::rtr: return on_rtr(message);
    case wire::share: return on_share(message);
    case wire::chunk:
    case wire::last_chunk: return on_chunk(message);
    case wire::send:
    case wire::send_rts: return on_send(message);
    case wire::put: return on_put(message);
    case wire::put_rts: return on_put_rts(message);
    case wire::get: return on_get(message);
    case wire::put_signal:
    case wire::get_signal: return on_signal(message);
    case wire::atomic: return on_atomic(message);
    case wire::atomic_result: return on_atomic_result(message);
    case wire::wants_rts: return on_wants_rts(message);
    case wire::ready_to_receive: return on_ready(message);
    case wire::written: return on_written(message);
    case wire::take_back_ready: return on_take_back(message);
  }
  return refuse(message);
}

bool device_state::refuse(const net::arrival& message) noexcept {
  runtime_->count_refused();
  give_back(message);
  return true;
}

device_state::target device_state::target_of(const net::arrival& message) noexcept {
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

bool device_state::on_active_message(const net::arrival& message) noexcept {
  const target to = target_of(message);
  if (to.what != fate::deliver) {
    if (to.what == fate::no_room) return false;
    if (to.what == fate::unwanted) runtime_->count_dropped();
    give_back(message);
    return true;
  }
  return deliver(*to.entry, message);
}

// Both ends are told: it would wait for ever.
bool device_state::fail_for_memory(operation_state& operation, remote_entry& to, const net::arrival& message) noexcept {
  if (to.told_of_memory.first()) {
    base::log_error(
        "a message of {} bytes from rank {} for id {} is more than this process can ever have: it fails with "
        "out_of_memory here and there; send it in parts, or put it into a memory region; of others for this "
        "id nothing is said",
        operation.bytes, message.source, message.header.id);
  }
  operation.message_bytes = operation.bytes;
  operation.bytes = 0;
  operation.error = errc::out_of_memory;
  operation.will_signal(*to.target);
  take_up(operation, step::send_fin);
  return true;
}

// It is tried again with each call of progress. What comes behind it goes on, while there is room to put such messages
// aside.
bool device_state::wait_for_memory(operation_state& operation, remote_entry& to, const net::arrival& message) noexcept {
  if (to.told_of_memory.first()) {
    base::log_warn(
        "a message of {} bytes from rank {} for id {} waits until its allocator, or the system, has memory for "
        "it; of others for this id nothing is said",
        operation.bytes, message.source, message.header.id);
  }
  runtime_->put_back(operation);
  return put_aside(message);
}

bool device_state::on_rts(const net::arrival& message) noexcept {
  rts_body body;
  if (!read_body(message, body)) return refuse(message);
  const target to = target_of(message);
  if (to.what == fate::no_room) return false;
  if (to.what == fate::kept) return true;
  operation_state* operation = arrival_operation(message);
  if (operation == nullptr) return put_aside(message);
  operation->what = operation::message;
  operation->remote_address = body.address;
  operation->remote_ticket = body.ticket;
  operation->acknowledge = body.acknowledge != 0;
  if (to.what == fate::unwanted) {
    // The sender gets its buffer back, and is told.
    runtime_->count_dropped();
    operation->error = errc::unknown_completion;
    take_up(*operation, step::send_fin);
    return true;
  }
  operation->bytes = body.bytes;
  if (body.bytes != 0) {
    if (to.entry->owner.is_beyond_all(body.bytes)) return fail_for_memory(*operation, *to.entry, message);
    void* const memory = to.entry->owner.allocate(body.bytes, message.source, message.header.tag);
    if (memory == nullptr) return wait_for_memory(*operation, *to.entry, message);
    operation->owner = &to.entry->owner;
    operation->into = buffer_ref{memory, static_cast<std::size_t>(body.bytes)};
  }
  operation->will_signal(*to.entry->target);
  take_up(*operation, body.bytes != 0 ? step::fetch : step::send_fin);
  return true;
}

// The operation whose first message `message` answers; null where there is none, and then the message is refused.
template <class Body>
operation_state* device_state::answered(const net::arrival& message, Body& body) noexcept {
  if (read_body(message, body)) {
    operation_state* found = runtime_->posts().find(body.ticket, message.source, step::wait_for_answer);
    if (found != nullptr) return found;
  }
  static_cast<void>(refuse(message));
  return nullptr;
}
template operation_state* device_state::answered(const net::arrival& message, atomic_result_body& body) noexcept;

errc device_state::error_of(std::uint64_t word) noexcept {
  return word > static_cast<std::uint64_t>(errc::region_refused) ? errc::none : static_cast<errc>(word);
}

bool device_state::on_fin(const net::arrival& message) noexcept {
  fin_body body;
  if (!read_body(message, body)) return refuse(message);
  operation_state* operation = runtime_->posts().find(body.ticket, message.source, step::wait_for_answer);
  // A get that is refused ends before its first packet.
  if (operation == nullptr && body.error != 0) {
    operation = runtime_->posts().find(body.ticket, message.source, step::wait_for_chunks);
  }
  if (operation == nullptr) return refuse(message);
  operation->error = error_of(body.error);
  if (!signal(*operation)) take_up(*operation, step::signal);
  return true;
}

bool device_state::on_rtr(const net::arrival& message) noexcept {
  rtr_body body;
  operation_state* const operation = answered(message, body);
  if (operation == nullptr) return true;
  if (!has_bytes_to_send(*operation)) return refuse(message);
  operation->remote_ticket = body.receiver_ticket;
  take_up(*operation, step::stream);
  return true;
}

bool device_state::on_chunk(const net::arrival& message) noexcept {
  const std::uint64_t offset = std::uint64_t{message.header.sequence} << 32 | message.header.id;
  operation_state* operation = runtime_->find_operation(message.header.tag, message.source, step::wait_for_chunks);
  if (operation == nullptr) return on_written_chunk(message, offset);
  if (kind_of(message.header.kind) != wire::chunk || message.bytes == 0 ||
      !is_within(offset, message.bytes, operation->bytes)) {
    return refuse(message);
  }
  operation->into.copy_from(message.payload, offset, message.bytes);
  const std::uint32_t bytes = message.bytes;
  const std::uint64_t all = operation->bytes;  // once this chunk is counted, it may be somebody else's
  give_back(message);
  // [chunk.count] acq_rel -> [chunk.count]: whoever copies the last chunk sees all others in the buffer.
  if (operation->moved.fetch_add(bytes, std::memory_order_acq_rel) + bytes == all) {
    if (operation->acknowledge) {
      // Goes on with whichever step is left: told its sender, it may still find its completion object full.
      if (!send_fin(*operation)) put_off(*operation);
    } else if (!signal(*operation)) {
      take_up(*operation, step::signal);
    }
  }
  return true;
}

// Here, where the endpoints' polls are compiled together with what an arrival does.
void device_state::open_endpoints() {
  for (const auto& transport : runtime_->transports()) {
    endpoints_.push_back(net::open_endpoint<device_state>(*transport, index_, shared_));
    for (std::uint32_t rank = 0; rank < runtime_->size(); ++rank) {
      if (ways_[rank] != nullptr || !transport->reaches(rank)) continue;
      ways_[rank] = endpoints_.back().get();
      routes_[rank] = ways_[rank]->route_to(rank);
    }
  }
}

bool device_state::on_kept_message(const net::arrival& message) noexcept {
  redelivering_ = true;
  const bool consumed = take(message);  // it was counted when it came
  redelivering_ = false;
  return consumed;
}

bool unexpected_messages::hand_over(device_state& to, const net::arrival& message) noexcept {
  return to.on_kept_message(message);
}

}  // namespace weft::core
