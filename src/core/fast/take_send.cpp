// SPDX-License-Identifier: BSD-3-Clause
#include "core/fast/take_send.hpp"

#include "base/callback_scope.hpp"
#include "core/operation/awaited_call.hpp"
#include "core/runtime/matching_store.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::fast {

[[gnu::noinline]] const completion* end_by_function(device_state& dev, operation_state& receive, std::uint32_t source,
                                                    std::uint64_t tag, std::uint32_t bytes) noexcept {
  completion& object = *receive.owed.target;
  void* const context = receive.owed.context;
  promise::begin(object);
  dev.own_receives().put(receive);
  promise::received_by(object)(context, source, tag, bytes);
  promise::end(object);
  return &object;
}

[[gnu::noinline]] const completion* end_call(device_state& dev, operation_state& receive, std::uint32_t source,
                                             std::uint64_t tag, std::uint32_t bytes) noexcept {
  completion& object = *receive.owed.target;
  if (!promise::is_of_calls(object)) return nullptr;
  auto& call = *static_cast<awaited_call*>(receive.owed.context);
  detail::raw_record& raw = call.record.raw();
  raw.peer = source;
  raw.opcode = operation::receive;
  raw.location = detail::payload_location::borrowed;
  raw.tag = tag;
  raw.refer({receive.receiving.into.address_of_piece(), bytes, nullptr, &call, bytes});
  const base::callback_scope resumes_fiber;  // perhaps by a scheduler of another library
  promise::begin(object);
  dev.own_receives().put(receive);
  call.end.come();
  promise::end(object);
  return &object;
}

// Copies a short send to the default engine straight into the buffer of its receive. A separate function with scalar
// arguments, so that the poll of active messages needs no more registers.
[[gnu::noinline]] bool take_send(device_state& dev, std::uint32_t source, match_policy policy, std::uint64_t tag,
                                 const std::byte* payload, std::uint32_t bytes) noexcept {
  const match_key key = make_match_key(default_matching_engine, policy, source, tag);
  match_node* found = nullptr;
  if (dev.matching().table().take(key, match_side::receive, found) != match_result::matched) [[unlikely]]
    return arrive_send::on_send(
        dev, {source,
              {kind_word(wire::send, static_cast<std::uint32_t>(policy)), default_matching_engine, 0, 0, tag},
              payload,
              bytes,
              nullptr});
  auto& receive = static_cast<operation_state&>(*found);
  if (bytes <= receive.receiving.into.bytes() && receive.receiving.into.is_ordinary()) [[likely]] {
    detail::copy_inline(receive.receiving.into.address_of_piece(), payload, bytes);
    if (const completion* const object = signal_receive(dev, receive, source, tag, bytes)) [[likely]] {
      dev.runtime().signalled(object);
      return true;
    }
  }
  arrive_send::deliver_slow(dev, receive, source, tag, payload, bytes);
  return true;
}

namespace {

// Takes the receive that a message to `engine` matches; `released` gets messages that were matched meanwhile, which the
// caller delivers in any case.
// Null: nothing has happened.
[[gnu::always_inline]] inline operation_state* take_receive(device_state& dev, engine_state& engine,
                                                            const match_key& key, std::uint32_t sequence,
                                                            matched_messages& released) noexcept {
  match_node* found = nullptr;
  match_result result = match_result::none;
  if (engine.kind == engine_kind::ordered) {
    result = engine.ordered->try_match(key, sequence, found, released);
  } else if (engine.kind == engine_kind::by_policy) {
    result = dev.matching().table().take(key, match_side::receive, found);
  }
  return result == match_result::matched ? static_cast<operation_state*>(found) : nullptr;
}

// Looks the engine of a send up, and takes the receive as `take_receive` does.
[[gnu::always_inline]] inline operation_state* find_receive(device_state& dev, std::uint32_t source,
                                                            const net::header& header,
                                                            matched_messages& released) noexcept {
  const auto policy = static_cast<match_policy>(policy_of(header.kind));
  const auto& ids = dev.matching().engines().ids();
  auto* engine = static_cast<engine_state*>(ids.try_find(header.id));
  if (engine == nullptr) [[unlikely]]
    engine = static_cast<engine_state*>(ids.try_find_all(header.id));
  if (engine == nullptr || (engine->kind != engine_kind::by_policy && policy != match_policy::rank_tag)) [[unlikely]]
    return nullptr;
  return take_receive(dev, *engine, make_match_key(header.id, policy, source, header.tag), header.sequence, released);
}

}  // namespace

[[gnu::noinline]] const void* take_word_in_order(device_state& dev, std::uint32_t source, std::uint64_t id_and_sequence,
                                                 const std::byte* tag_and_payload, engine_state& engine) noexcept {
  if (engine.kind != engine_kind::ordered) [[unlikely]]
    return nullptr;
  std::uint64_t tag;
  std::memcpy(&tag, tag_and_payload, sizeof tag);
  match_node* found = nullptr;
  matched_messages released;
  if (engine.ordered->try_match(make_match_key(engine.id, match_policy::rank_tag, source, tag),
                                static_cast<std::uint32_t>(id_and_sequence >> 32), found,
                                released) != match_result::matched) [[unlikely]] {
    arrive_send::deliver_all(dev, released);
    return nullptr;
  }
  auto& receive = static_cast<operation_state&>(*found);
  const completion* const object = deliver_word(dev, receive, source, tag, tag_and_payload + sizeof tag);
  if (!released.is_empty()) [[unlikely]]
    arrive_send::deliver_all(dev, released);
  return object != nullptr ? static_cast<const void*>(object) : &dev;  // not null: handled
}

[[gnu::noinline]] bool take_send_of_engine(device_state& dev, std::uint32_t source, const net::header& header,
                                           const std::byte* payload, std::uint32_t bytes) noexcept {
  matched_messages released;
  operation_state* const receive = find_receive(dev, source, header, released);
  if (receive == nullptr) {
    arrive_send::deliver_all(dev, released);
    return arrive_send::on_send(dev, {source, header, payload, bytes, nullptr});
  }
  const completion* object = nullptr;
  if (bytes <= receive->receiving.into.bytes() && receive->receiving.into.is_ordinary()) [[likely]] {
    detail::copy_inline(receive->receiving.into.address(), payload, bytes);
    object = signal_receive(dev, *receive, source, header.tag, bytes);
  }
  if (object != nullptr) [[likely]]
    dev.runtime().signalled(object);
  else
    arrive_send::deliver_slow(dev, *receive, source, header.tag, payload, bytes);
  if (!released.is_empty()) [[unlikely]]
    arrive_send::deliver_all(dev, released);
  return true;
}

[[gnu::noinline]] bool take_send_in_packet(device_state& dev, const net::arrival& message) noexcept {
  const net::header& header = message.header;
  matched_messages released;
  operation_state* receive = nullptr;
  if (header.id == default_matching_engine) {
    const auto policy = static_cast<match_policy>(policy_of(header.kind));
    const match_key key = make_match_key(default_matching_engine, policy, message.source, header.tag);
    match_node* found = nullptr;
    if (dev.matching().table().take(key, match_side::receive, found) == match_result::matched)
      receive = static_cast<operation_state*>(found);
  } else {
    receive = find_receive(dev, message.source, header, released);
  }
  if (receive == nullptr) [[unlikely]] {
    arrive_send::deliver_all(dev, released);
    return arrive_send::on_send(dev, message);
  }
  std::byte* const into = receive->receiving.into.address();
  const completion* object = nullptr;
  if (message.bytes <= receive->receiving.into.bytes() && into != nullptr) [[likely]] {
    std::memcpy(into, message.payload, message.bytes);
    object = signal_receive(dev, *receive, message.source, header.tag, message.bytes);
  }
  if (object != nullptr) [[likely]] {
    dev.runtime().signalled(object);
    give_back(message);
  } else {
    arrive_send::deliver(dev, *receive, message);
  }
  if (!released.is_empty()) [[unlikely]]
    arrive_send::deliver_all(dev, released);
  if (dev.matching().unexpected().budget().next_notice(message.source) != 0) [[unlikely]]
    arrive_send::send_budget_notice(dev, message.source);
  return true;
}

}  // namespace weft::core::fast
