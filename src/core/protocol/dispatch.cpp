// SPDX-License-Identifier: BSD-3-Clause
// Where the polls of transports deliver arriving messages. Every function answers like a sink's `on_message`
// (net/sink.hpp): true if the message is consumed, false if there is no room and the transport has to keep it.
//
// Cost of 8 bytes: one probe of the table of ids, a record of one cache line, and the signal.
#include "base/assertion.hpp"
#include "base/log.hpp"
#include "core/device/device_state.hpp"
#include "core/fast/take_send.hpp"
#include "core/message/message_body.hpp"
#include "core/protocol/active_message.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/protocol/cooperative_copy.hpp"
#include "core/protocol/numbered_credits.hpp"
#include "core/protocol/one_sided_target.hpp"
#include "core/protocol/receiver_first.hpp"
#include "core/protocol/rendezvous.hpp"
#include "core/protocol/withdraw_rts.hpp"
#include "core/runtime/runtime_state.hpp"
#include "net/transports.hpp"

namespace weft::core {

// The shortest path: writes an active message of one word into its queue's slot. Null: nothing has happened.
[[gnu::always_inline]] inline const void* message_sink::take_active_word(std::uint32_t source, std::uint32_t id,
                                                                         const std::byte* tag_and_payload) noexcept {
  const auto* to = static_cast<remote_entry*>(dev().runtime().registrations().ids().try_find(id));
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

[[gnu::always_inline]] inline bool message_sink::must_follow_up(const void* signalled) noexcept {
  return dev().runtime().parking().is_awaited(static_cast<const completion*>(signalled));
}

void message_sink::follow_up(const void* signalled) noexcept {
  dev().runtime().signalled(static_cast<const completion*>(signalled));
}

// Takes inline messages: writes an active message straight into its queue's slot, and a send into its receive's buffer.
[[gnu::always_inline]] inline bool message_sink::fast_take(std::uint32_t source, const net::header& header,
                                                           const std::byte* payload, std::uint32_t bytes,
                                                           bool& consumed) noexcept {
  if (header.kind != static_cast<std::uint32_t>(wire::active_message)) {
    const std::uint32_t policy = header.kind >> policy_shift;
    if (kind_of(header.kind) != wire::send || policy > static_cast<std::uint32_t>(match_policy::none)) return false;
    if (header.id == default_matching_engine) [[likely]]
      consumed = fast::take_send(dev(), source, static_cast<match_policy>(policy), header.tag, payload, bytes);
    else
      consumed = fast::take_send_of_engine(dev(), source, header, payload, bytes);
    if (consumed) dev().counts().took(bytes);
    return true;
  }
  const auto* to = static_cast<remote_entry*>(dev().runtime().registrations().ids().try_find(header.id));
  if (to == nullptr || to->queue == nullptr) return false;
  const std::uint64_t head =
      detail::record_head(source, operation::message, detail::payload_location::in_record, bytes);
  completion* const object = to->target;
  consumed = to->queue->try_push_parts(head, header.tag, payload, (bytes + 7) / 8);
  dev().runtime().signalled(object);
  if (consumed) [[likely]]
    dev().counts().took(bytes);
  else
    head_of_line_.note(source, header.kind, header.id);
  return true;
}

// Takes messages in packets: an active message becomes a record that owns its packet.
inline bool message_sink::fast_take_packet(const net::arrival& message, bool& consumed) noexcept {
  const net::header& header = message.header;
  if (header.kind != static_cast<std::uint32_t>(wire::active_message)) {
    if (kind_of(header.kind) != wire::send ||
        header.kind >> policy_shift > static_cast<std::uint32_t>(match_policy::none))
      return false;
    consumed = fast::take_send_in_packet(dev(), message);
  } else {
    const auto* to = static_cast<remote_entry*>(dev().runtime().registrations().ids().try_find(header.id));
    if (to == nullptr || to->queue == nullptr) return false;
    const std::uint64_t head =
        detail::record_head(message.source, operation::message, detail::payload_location::owned, 0);
    completion* const object = to->target;
    const detail::raw_record::reference data{const_cast<std::byte*>(message.payload), message.bytes, message.owner,
                                             nullptr};
    consumed = to->queue->try_push_parts(head, header.tag, &data, sizeof data / sizeof(std::uint64_t));
    dev().runtime().signalled(object);
  }
  if (consumed) [[likely]]
    dev().counts().took(message.bytes);
  else
    head_of_line_.note(message.source, header.kind, header.id);
  return true;
}

// Handles a message that continues an operation.
bool message_sink::continue_operation(const net::arrival& message) noexcept {
  // Another thread may be ending the operation (runtime/peer_ends.hpp).
  if (dev().runtime().peers().is_closed(message.source)) [[unlikely]]
    return arrive::drop(dev(), message);
  switch (kind_of(message.header.kind)) {
    case wire::fin: return rendezvous::on_fin(dev(), message);
    case wire::rtr: return rendezvous::on_rtr(dev(), message);
    case wire::copy_invitation: return cooperative_copy::on_copy_invitation(dev(), message);
    case wire::chunk:
    case wire::last_chunk: return rendezvous::on_chunk(dev(), message);
    case wire::chunks_failed: return rendezvous::on_chunks_failed(dev(), message);
    case wire::atomic_result: return one_sided_target::on_atomic_result(dev(), message);
    case wire::written: return receiver_first::on_written(dev(), message);
    case wire::withdraw_answer: return withdraw_rts::on_withdraw_answer(dev(), message);
    default: return arrive::reject(dev(), message);
  }
}

bool message_sink::dispatch(const net::arrival& message) noexcept {
  switch (kind_of(message.header.kind)) {
    case wire::active_message: return active_message::on_active_message(dev(), message);
    case wire::rts: return rendezvous::on_rts(dev(), message);
    case wire::fin:
    case wire::rtr:
    case wire::copy_invitation:
    case wire::chunk:
    case wire::last_chunk:
    case wire::chunks_failed:
    case wire::atomic_result:
    case wire::written:
    case wire::withdraw_answer: return continue_operation(message);
    case wire::send:
    case wire::send_rts: return arrive_send::on_send(dev(), message);
    case wire::put: return one_sided_target::on_put(dev(), message);
    case wire::put_rts: return one_sided_target::on_put_rts(dev(), message);
    case wire::get: return one_sided_target::on_get(dev(), message);
    case wire::put_signal:
    case wire::get_signal: return one_sided_target::on_signal(dev(), message);
    case wire::atomic: return one_sided_target::on_atomic(dev(), message);
    case wire::budget_notice: return arrive_send::on_budget_notice(dev(), message);
    case wire::order_notice: return numbered_credits::on_order_notice(dev(), message);
    case wire::order_request: return numbered_credits::on_order_request(dev(), message);
    case wire::ready_to_receive: return receiver_first::on_ready_to_receive(dev(), message);
    case wire::withdraw_rtr: return receiver_first::on_withdraw_rtr(dev(), message);
    case wire::withdraw_rts: return withdraw_rts::on_withdraw_rts(dev(), message);
  }
  return arrive::reject(dev(), message);
}

[[gnu::always_inline]] inline void message_sink::count_words(unsigned count) noexcept {
  dev().counts().took(std::uint64_t{count} * net::word_bytes);
}

inline void message_sink::on_target_full() noexcept {
  was_full_ = true;
  dev().counts().refused();
}

bool message_sink::on_message(const net::arrival& message) noexcept {
  WEFT_ASSERT_CHECKED(message.source < dev().rank_count());
  const bool consumed = dispatch(message);
  if (consumed) [[likely]]
    dev().counts().took(message.bytes);
  else
    head_of_line_.note(message.source, message.header.kind, message.header.id);
  return consumed;
}

// Stands in this file, so that the endpoints' polls are compiled together with the handlers of messages.
void open_endpoints(device_state& made, std::uint32_t ring_cells) {
  for (const auto& transport : made.runtime().transports()) {
    endpoints::endpoint& opened = made.endpoints().add(
        net::open_endpoint<message_sink>(*transport, made.index(), made.marks().is_shared(), ring_cells));
    for (std::uint32_t rank = 0; rank < made.rank_count(); ++rank) {
      if (!made.routes().has(rank) && transport->reaches(rank)) made.routes().use(rank, opened);
    }
  }
}

bool message_sink::on_kept_message(const net::arrival& message) noexcept {
  redelivering_ = true;
  const bool consumed = dispatch(message);  // counted on arrival
  redelivering_ = false;
  return consumed;
}

bool kept_messages::hand_over(device_state& to, const net::arrival& message) noexcept {
  return to.on_kept_message(message);
}

}  // namespace weft::core
