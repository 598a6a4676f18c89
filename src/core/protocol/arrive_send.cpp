// What an arriving send does: it meets its receive, or waits for it.
//
// Cost of 8 bytes: one probe of the table of engines, one cache line of the matching table, the copy, and the signal.
#include <cstring>

#include "core/device/device_state.hpp"
#include "core/fast/take_send.hpp"
#include "core/message/message_body.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {

bool device_state::on_send(const net::arrival& message) noexcept {
  const bool is_rts = kind_of(message.header.kind) == wire::send_rts;
  rts_body body;  // only checked here; the steps that need it read it again
  if (is_rts ? !read_body(message, body)
             : message.owner != nullptr && message.bytes > runtime_->packets().packet_bytes()) {
    return refuse(message);
  }
  if ((message.header.kind >> 8) > static_cast<std::uint32_t>(match_policy::none)) return refuse(message);
  const engine_target to = engine_of(message);
  if (to.what == fate::no_room) return false;
  if (to.what != fate::deliver) return refuse_send(message, to.what);
  const bool consumed = to.engine->is_ordered() ? match_in_order(*to.engine, message) : match_send(*to.engine, message);
  if (message.owner != nullptr || is_rts) tell_budget(message.source);
  return consumed;
}

// Kept: until the engine is made.
device_state::engine_target device_state::engine_of(const net::arrival& message) noexcept {
  for (;;) {
    const detail::id_entry found = runtime_->find_engine(message.header.id);
    if (found.state == detail::presence::present) return {fate::deliver, static_cast<engine_state*>(found.object)};
    if (found.state == detail::presence::withdrawn) return {fate::unwanted, nullptr};
    switch (runtime_->unexpected().keep(message, runtime_->engines())) {
      case unexpected_messages::answer::kept: return {fate::kept, nullptr};
      case unexpected_messages::answer::no_room: return {fate::no_room, nullptr};
      case unexpected_messages::answer::no_longer_unexpected: break;  // made this very moment: look again
    }
  }
}

// For an engine that is gone, or not made yet. Of a long message that nobody will receive, its sender is told.
bool device_state::refuse_send(const net::arrival& message, fate why) noexcept {
  if (why == fate::unwanted) {
    if (kind_of(message.header.kind) == wire::send_rts) {
      operation_state* const answer = arrival_operation(message);
      if (answer == nullptr) return put_aside(message);
      rts_body body;
      std::memcpy(&body, message.payload, sizeof body);
      answer->remote_ticket = body.ticket;
      answer->error = errc::unknown_completion;
      take_up(*answer, step::send_fin);
    }
    runtime_->count_dropped();
  }
  give_back(message);
  return true;
}

bool device_state::match_send(engine_state& engine, const net::arrival& message) noexcept {
  const auto policy = static_cast<match_policy>(message.header.kind >> 8);
  const match_key key = engine.key_of(policy, message.source, message.header.tag);
  match_node* found = nullptr;
  match_result result = runtime_->matching().take(key, match_side::receive, found);
  if (result == match_result::none) {
    unexpected_message* const kept = runtime_->unexpected_sends().try_keep(message, engine);
    if (kept == nullptr) return false;
    kept->key = key;
    result = runtime_->matching().insert(*kept, found);
    if (result == match_result::inserted) return true;
    runtime_->unexpected_sends().put(*kept);  // a receive came in between, or another thread is in the way
  }
  if (result != match_result::matched) return false;
  complete_receive(static_cast<operation_state&>(*found), message);
  return true;
}

// A short send to the engine that all share goes straight into the buffer of its receive. By values, and apart: what
// polls for active messages keeps its registers.
[[gnu::noinline]] bool device_state::take_send_at_once(std::uint32_t source, match_policy policy, std::uint64_t tag,
                                                       const std::byte* payload, std::uint32_t bytes) noexcept {
  const match_key key = make_match_key(default_matching_engine, policy, source, tag);
  match_node* found = nullptr;
  if (runtime_->matching().take(key, match_side::receive, found) != match_result::matched) [[unlikely]]
    return on_send({source,
                    {kind_word(wire::send, static_cast<std::uint32_t>(policy)), default_matching_engine, 0, 0, tag},
                    payload,
                    bytes,
                    nullptr});
  auto& receive = static_cast<operation_state&>(*found);
  if (bytes <= receive.into.bytes() && !receive.into.is_list()) [[likely]] {
    detail::copy_inline(receive.into.address(), payload, bytes);
    if (const completion* const object = signal_receive_at_once(receive, source, tag, bytes)) [[likely]] {
      runtime_->signalled(object);
      return true;
    }
  }
  complete_short(receive, source, tag, payload, bytes);
  return true;
}

// What has met its receive, but is not so simple.
[[gnu::noinline, gnu::cold]] void device_state::complete_short(operation_state& receive, std::uint32_t source,
                                                               std::uint64_t tag, const std::byte* payload,
                                                               std::uint32_t bytes) noexcept {
  complete_receive(receive, {source, {.tag = tag}, payload, bytes, nullptr});
}

bool device_state::match_in_order(engine_state& engine, const net::arrival& message) noexcept {
  if ((message.header.kind >> 8) != static_cast<std::uint32_t>(match_policy::rank_and_tag)) return refuse(message);
  if (engine.receiver_first != (kind_of(message.header.kind) == wire::ready_to_receive)) [[unlikely]] {
    say_kinds_differ(engine, message);
    return refuse_send(message, fate::unwanted);
  }
  const match_key key = make_match_key(engine.id, match_policy::rank_and_tag, message.source, message.header.tag);
  match_node* found = nullptr;
  matched_messages released;
  match_result result = engine.ordered->try_match(key, message.header.sequence, found, released);
  if (result == match_result::matched) {
    meet(static_cast<operation_state&>(*found), message);
  } else if (result == match_result::none) {
    unexpected_message* const kept = runtime_->unexpected_sends().try_keep(message, engine);
    if (kept == nullptr) return false;
    kept->key = key;
    kept->sequence = message.header.sequence;
    result = engine.ordered->arrive(*kept, released);
    if (result == match_result::busy || result == match_result::refused) runtime_->unexpected_sends().put(*kept);
  }
  complete_all(released);
  if (result == match_result::refused) return refuse(message);
  return result != match_result::busy;
}

// Whose packets wait here is told when there are too many, and again when there are few. Where there is no room for it
// now, the next message, RTS or receive tries again: a word answers nobody, so it takes no operation from those that
// have to. Two threads may send the same word, of which the second says nothing.
void device_state::tell_budget(std::uint32_t source) noexcept {
  send_budget& budget = runtime_->unexpected_sends().budget();
  const std::uint32_t number = budget.next_word(source);
  if (number == 0) return;
  const net::header what{.kind = static_cast<std::uint32_t>(wire::wants_rts), .sequence = number};
  if (way(source).try_inject(source, net::any_device, what, nullptr, 0) == net::post_result::ok) {
    budget.told(source, number);
  }
}

bool device_state::on_wants_rts(const net::arrival& message) noexcept {
  if (message.owner != nullptr || message.bytes != 0) return refuse(message);
  runtime_->unexpected_sends().budget().hear(message.source, message.header.sequence);
  return true;
}

// Messages that had waited for others before them, each with its receive.
void device_state::complete_all(matched_messages& released) noexcept {
  for (ordered_message* each = released.first; each != nullptr;) {
    ordered_message* const next = each->next;
    auto& message = static_cast<unexpected_message&>(*each);
    if (message.engine->receiver_first) {
      meet(static_cast<operation_state&>(*each->receive), message.what);
      runtime_->unexpected_sends().put(message);
    } else {
      pair_up(static_cast<operation_state&>(*each->receive), message);
    }
    each = next;
  }
}

// What an ordered engine has matched: a receive and its message, or a send and what says where it is to be written.
void device_state::meet(operation_state& waited, const net::arrival& message) noexcept {
  if (kind_of(message.header.kind) != wire::ready_to_receive) return complete_receive(waited, message);
  ready_body body;
  std::memcpy(&body, message.payload, sizeof body);
  meet_ready(waited, body);
}

// The receive and the message are this thread's alone. What can't be done now goes to the backlog.
void device_state::complete_receive(operation_state& receive, const net::arrival& message) noexcept {
  receive.peer = message.source;
  receive.tag = message.header.tag;
  if (kind_of(message.header.kind) == wire::send_rts) {
    rts_body body;
    std::memcpy(&body, message.payload, sizeof body);
    receive.message_bytes = body.bytes;
    receive.remote_ticket = body.ticket;
    receive.remote_address = body.address;
    receive.acknowledge = body.acknowledge != 0;
    const bool fits = body.bytes <= receive.into.bytes();
    receive.bytes = fits ? body.bytes : 0;
    if (!fits) receive.error = errc::truncated;
    take_up(receive, receive.bytes != 0 ? step::fetch : step::send_fin);
    return;
  }
  receive.message_bytes = message.bytes;
  receive.bytes = 0;
  if (message.bytes <= receive.into.bytes()) {
    receive.into.copy_from(message.payload, 0, message.bytes);
    receive.bytes = message.bytes;
  } else {
    receive.error = errc::truncated;
  }
  give_back(message);
  if (!signal(receive)) take_up(receive, step::signal);
}

}  // namespace weft::core
