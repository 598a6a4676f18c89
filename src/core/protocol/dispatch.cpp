// Where the polls of transports deliver arriving messages. Every function answers like a sink's `on_message`
// (net/sink.hpp): true if the message is consumed, false if there is no room and the transport has to keep it.
//
// Cost of 8 bytes: one probe of the table of ids, a record of one cache line, and the signal.
#include "base/log.hpp"
#include "core/device/device_state.hpp"
#include "core/fast/take_send.hpp"
#include "core/message/message_body.hpp"
#include "core/protocol/active_message.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/protocol/cooperative_copy.hpp"
#include "core/protocol/one_sided_target.hpp"
#include "core/protocol/receiver_first.hpp"
#include "core/protocol/rendezvous.hpp"
#include "core/protocol/withdraw_rts.hpp"
#include "core/runtime/runtime_state.hpp"
#include "net/transports.hpp"

namespace weft::core {

// The shortest path: writes an active message of one word into its queue's slot. Null: nothing has happened.
[[gnu::always_inline]] inline const void* device_state::take_active_word(std::uint32_t source, std::uint32_t id,
                                                                         const std::byte* tag_and_payload) noexcept {
  const auto* to = static_cast<remote_entry*>(runtime_->registrations().ids().try_find(id));
  if (to == nullptr || to->queue == nullptr) return nullptr;
  constexpr std::uint64_t head =
      detail::record_head(0, operation::message, detail::payload_location::in_record, net::word_bytes);
  const completion* const object = to->target;
  const bool pushed = to->queue->fast_push([&](auto& slot) {
    slot.put(0, head | source);
    slot.put_from(1, tag_and_payload);
    slot.put_from(2, tag_and_payload + sizeof(std::uint64_t));
  });
  return pushed ? object : nullptr;
}

[[gnu::always_inline]] inline bool device_state::must_follow_up(const void* signalled) const noexcept {
  return runtime_->parking().is_awaited(static_cast<const completion*>(signalled));
}

void device_state::follow_up(const void* signalled) noexcept {
  runtime_->signalled(static_cast<const completion*>(signalled));
}

// For inline messages: writes an active message straight into its queue's slot, and a send into its receive's buffer.
[[gnu::always_inline]] inline bool device_state::fast_take(std::uint32_t source, const net::header& header,
                                                           const std::byte* payload, std::uint32_t bytes,
                                                           bool& consumed) noexcept {
  if (header.kind != static_cast<std::uint32_t>(wire::active_message)) {
    const std::uint32_t policy = header.kind >> 8;
    if (kind_of(header.kind) != wire::send || header.id != default_matching_engine ||
        policy > static_cast<std::uint32_t>(match_policy::none)) {
      return false;
    }
    consumed = fast::take_send(*this, source, static_cast<match_policy>(policy), header.tag, payload, bytes);
    if (consumed) counts_.took(bytes);
    return true;
  }
  const auto* to = static_cast<remote_entry*>(runtime_->registrations().ids().try_find(header.id));
  if (to == nullptr || to->queue == nullptr) return false;
  const std::uint64_t head =
      detail::record_head(source, operation::message, detail::payload_location::in_record, bytes);
  completion* const object = to->target;
  consumed = to->queue->try_push_parts(head, header.tag, payload, (bytes + 7) / 8);
  runtime_->signalled(object);
  if (consumed) [[likely]]
    counts_.took(bytes);
  else
    stopped_.note(source, header.kind, header.id);
  return true;
}

// Handles a message that continues an operation.
bool device_state::continue_operation(const net::arrival& message) noexcept {
  // Another thread may be ending the operation (runtime/peer_ends.hpp).
  if (runtime_->peers().is_closed(message.source)) [[unlikely]]
    return arrive::drop(*this, message);
  switch (kind_of(message.header.kind)) {
    case wire::fin: return rendezvous::on_fin(*this, message);
    case wire::rtr: return rendezvous::on_rtr(*this, message);
    case wire::copy_invitation: return cooperative_copy::on_copy_invitation(*this, message);
    case wire::chunk:
    case wire::last_chunk: return rendezvous::on_chunk(*this, message);
    case wire::atomic_result: return one_sided_target::on_atomic_result(*this, message);
    case wire::written: return receiver_first::on_written(*this, message);
    case wire::withdraw_answer: return withdraw_rts::on_withdraw_answer(*this, message);
    default: return arrive::reject(*this, message);
  }
}

bool device_state::dispatch(const net::arrival& message) noexcept {
  switch (kind_of(message.header.kind)) {
    case wire::active_message: return active_message::on_active_message(*this, message);
    case wire::rts: return rendezvous::on_rts(*this, message);
    case wire::fin:
    case wire::rtr:
    case wire::copy_invitation:
    case wire::chunk:
    case wire::last_chunk:
    case wire::atomic_result:
    case wire::written:
    case wire::withdraw_answer: return continue_operation(message);
    case wire::send:
    case wire::send_rts: return arrive_send::on_send(*this, message);
    case wire::put: return one_sided_target::on_put(*this, message);
    case wire::put_rts: return one_sided_target::on_put_rts(*this, message);
    case wire::get: return one_sided_target::on_get(*this, message);
    case wire::put_signal:
    case wire::get_signal: return one_sided_target::on_signal(*this, message);
    case wire::atomic: return one_sided_target::on_atomic(*this, message);
    case wire::budget_notice: return arrive_send::on_budget_notice(*this, message);
    case wire::ready_to_receive: return receiver_first::on_ready_to_receive(*this, message);
    case wire::withdraw_rtr: return receiver_first::on_withdraw_rtr(*this, message);
    case wire::withdraw_rts: return withdraw_rts::on_withdraw_rts(*this, message);
  }
  return arrive::reject(*this, message);
}

// In this file, so that the endpoints' polls are compiled together with the handlers of messages.
void device_state::open_endpoints() {
  for (const auto& transport : runtime_->transports()) {
    endpoints_.push_back(net::open_endpoint<device_state>(*transport, index_, shared_));
    for (std::uint32_t rank = 0; rank < runtime_->size(); ++rank) {
      if (endpoint_of_[rank] != nullptr || !transport->reaches(rank)) continue;
      endpoint_of_[rank] = endpoints_.back().get();
      find_route(rank);
    }
  }
}

bool device_state::on_kept_message(const net::arrival& message) noexcept {
  redelivering_ = true;
  const bool consumed = dispatch(message);  // counted on arrival
  redelivering_ = false;
  return consumed;
}

bool kept_messages::hand_over(device_state& to, const net::arrival& message) noexcept {
  return to.on_kept_message(message);
}

}  // namespace weft::core
