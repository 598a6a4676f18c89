// SPDX-License-Identifier: BSD-3-Clause
// For a short send that has matched a receive: the copy into its buffer and the signal, if both are simple. Inlined
// into the poll functions. The general twin: protocol/arrive_send.cpp.
//
// Cost of 8 bytes: one cache line of the matching table, two of the receive, the buffer, and the signal.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/device/device_state.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/runtime/matching_store.hpp"

namespace weft::core {
namespace fast {

/// Handles a send of up to 40 bytes to the default engine. **Returns** whether the message is consumed.
[[nodiscard]] bool take_send(device_state& dev, std::uint32_t source, match_policy policy, std::uint64_t tag,
                             const std::byte* payload, std::uint32_t bytes) noexcept;

/// Matches in any other engine, which it looks up.
[[nodiscard]] bool take_send_of_engine(device_state& dev, std::uint32_t source, const net::header& header,
                                       const std::byte* payload, std::uint32_t bytes) noexcept;

/// Handles a send in a packet, which it gives back if it copies the bytes. **Returns** whether the message is consumed.
[[nodiscard]] bool take_send_in_packet(device_state& dev, const net::arrival& message) noexcept;

/// Handles a send of one word to an engine that does not match by policy in the table. Null: nothing has happened.
[[nodiscard]] const void* take_word_in_order(device_state& dev, std::uint32_t source, std::uint64_t id_and_sequence,
                                             const std::byte* tag_and_payload, engine_state& engine) noexcept;

/// Ends a receive whose completion object takes receives by a function. **Returns** that object.
[[nodiscard]] const completion* end_by_function(device_state& dev, operation_state& receive, std::uint32_t source,
                                                std::uint64_t tag, std::uint32_t bytes) noexcept;
/// Ends the call that waits for the receive, if the completion object is a blocking device's. **Returns** that object;
/// null: nothing has happened.
[[nodiscard]] const completion* end_call(device_state& dev, operation_state& receive, std::uint32_t source,
                                         std::uint64_t tag, std::uint32_t bytes) noexcept;

/// Completes a receive into one piece: signals its completion object if it is a counter, a queue with room, one that
/// takes receives by a function, or a blocking device's, without building a record first. Answers that object; null:
/// nothing has happened.
[[gnu::always_inline]] inline const completion* signal_receive(device_state& dev, operation_state& receive,
                                                               std::uint32_t source, std::uint64_t tag,
                                                               std::uint32_t bytes) noexcept {
  completion& object = *receive.owed.target;
  detail::laned_queue<detail::raw_record>* const queue = promise::queue_of(object);
  if (queue == nullptr) {
    std::atomic<std::uint64_t>* const count = promise::count_of(object);
    if (count == nullptr) {
      return promise::received_by(object) != nullptr ? end_by_function(dev, receive, source, tag, bytes)
                                                     : end_call(dev, receive, source, tag, bytes);
    }
    promise::begin(object);
    // [receive.count] release -> [counter.value]: the message in the buffer.
    count->fetch_add(1, std::memory_order_release);
    promise::end(object);
    dev.own_receives().put(receive);
    return &object;
  }
  const std::uint64_t head = detail::record_head(source, operation::receive, detail::payload_location::borrowed, 0);
  promise::begin(object);
  const bool pushed = queue->fast_push([&](auto& slot) {
    slot.put(0, head);
    slot.put(1, tag);
    slot.put(2, reinterpret_cast<std::uintptr_t>(
                    receive.receiving.into.address_of_piece()));  // is a raw_record::reference from here on
    slot.put(3, bytes);
    slot.put(4, 0);
    slot.put(5, reinterpret_cast<std::uintptr_t>(receive.owed.context));
    slot.put(6, bytes);
  });
  if (!pushed) [[unlikely]] {
    const detail::raw_record::reference data{receive.receiving.into.address_of_piece(), bytes, nullptr,
                                             receive.owed.context, bytes};
    if (!queue->try_push_parts(head, tag, &data, 5)) {
      promise::defer(object);
      return nullptr;
    }
  }
  promise::end(object);
  dev.own_receives().put(receive);
  return &object;
}

/// Copies a word to the receive that it has matched, and signals. **Returns** the object that was signalled; null: its
/// waiters were woken already.
[[gnu::always_inline]] inline const completion* deliver_word(device_state& dev, operation_state& receive,
                                                             std::uint32_t source, std::uint64_t tag,
                                                             const std::byte* payload) noexcept {
  if (net::word_bytes <= receive.receiving.into.bytes() && receive.receiving.into.is_ordinary()) [[likely]] {
    std::memcpy(receive.receiving.into.address(), payload, net::word_bytes);
    if (const completion* const object = signal_receive(dev, receive, source, tag, net::word_bytes)) [[likely]]
      return object;
  }
  arrive_send::deliver_slow(dev, receive, source, tag, payload, net::word_bytes);
  return nullptr;
}

}  // namespace fast

// Handles a send of one word, matched by rank and tag. Null: nothing has happened.
[[gnu::always_inline]] inline const void* message_sink::take_sent_word(std::uint32_t source,
                                                                       std::uint64_t id_and_sequence,
                                                                       const std::byte* tag_and_payload) noexcept {
  const auto id = static_cast<std::uint32_t>(id_and_sequence);
  matching_store& matching = dev().matching();
  if (id != default_matching_engine) {
    auto* const engine = static_cast<engine_state*>(matching.engines().ids().try_find(id));
    if (engine == nullptr) [[unlikely]]
      return nullptr;
    if (engine->kind != engine_kind::by_policy)
      return fast::take_word_in_order(dev(), source, id_and_sequence, tag_and_payload, *engine);
  }
  std::uint64_t tag;
  std::memcpy(&tag, tag_and_payload, sizeof tag);
  const std::byte* const payload = tag_and_payload + sizeof tag;
  const match_key key = make_match_key(id, match_policy::rank_tag, source, tag);
  match_node* found = nullptr;
  if (matching.table().take(key, match_side::receive, found) != match_result::matched) [[unlikely]]
    return nullptr;
  const completion* const object =
      fast::deliver_word(dev(), static_cast<operation_state&>(*found), source, tag, payload);
  return object != nullptr ? static_cast<const void*>(object) : this;  // not null: handled
}

}  // namespace weft::core
