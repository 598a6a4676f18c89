// SPDX-License-Identifier: BSD-3-Clause
// Messages that a transport has accepted and can't deliver, and ranks that have ended: the operations of such messages
// and ranks fail, and so does every further message to that rank. A message that arrives never runs this code.
#include "core/protocol/lost_message.hpp"

#include <fmt/format.h>

#include "base/assertion.hpp"
#include "base/log.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/protocol/complete.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::core {

namespace {

// A receive that names its source, or a send in a receiver-first engine.
bool names_its_peer(const match_key& key, std::uint32_t peer) noexcept {
  return (key.policy() == match_policy::rank_tag || key.policy() == match_policy::rank_only) && key.rank() == peer;
}

// Takes an operation out of the engine in which it waits for its match. False: it does not wait there any more, it
// waits for other ranks as well, or another thread has the engine's lock.
bool take_out(device_state& dev, operation_state& operation, std::uint32_t peer) noexcept {
  matched_messages released;
  const bool is_out = dev.matching().engines().readers().read([&] {
    // It is as for a cancelled receive (receive.cpp): an operation that waits, seen by a brief reader, has its engine.
    // [ended.at] acquire <- [operation.reach]: the operation's engine.
    const step current = operation.next.load(std::memory_order_acquire);
    if (current != step::wait_for_match && current != step::try_match) return false;
    // [operation.ended_in] relaxed <- [send.of_engine], [receive.of_engine], [receive.engine]: published by the step.
    engine_state* const engine = operation.receiving.engine.load(std::memory_order_relaxed);
    if (engine == nullptr) return false;
    const auto is_meant = [&](const match_node& node) { return names_its_peer(node.key, peer); };
    const match_result result = engine->is_ordered() ? engine->ordered->remove(operation, is_meant, released)
                                                     : dev.matching().table().remove(operation, is_meant);
    return result == match_result::removed;
  });
  arrive_send::deliver_all(dev, released);
  return is_out;
}

// Whether the operation waited for `peer`; then it belongs to the caller.
bool take_waiting(device_state& dev, operation_state& operation, std::uint32_t peer) noexcept {
  // [operation.ended_step] relaxed: what follows looks again.
  switch (operation.next.load(std::memory_order_relaxed)) {
    case step::wait_for_answer:
    case step::wait_for_chunks:
    case step::wait_for_sender: {
      // [operation.ended_ticket] relaxed: `claim` looks at the step again.
      const std::uint32_t note = operation_pool::note_of(operation.ticket.load(std::memory_order_relaxed));
      return dev.operations().claim(note, peer) != nullptr;
    }
    case step::wait_for_match:
    case step::try_match:
      if (!take_out(dev, operation, peer)) return false;
      if (operation.opcode == operation::receive) operation.receiving.into = {};
      return true;
    default: return false;
  }
}

}  // namespace

bool is_cut_off(device_state& dev, std::uint32_t peer) noexcept {
  WEFT_ASSERT_CHECKED(peer < dev.rank_count());
  return dev.runtime().peers().is_cut_off(peer);
}

void look_for_ends_soon(device_state& dev) noexcept { dev.runtime().peer_ends().look_soon(); }

void refuse_if_cut_off(device_state& dev, operation opcode, std::uint32_t peer) {
  const peers& all = dev.runtime().peers();
  if (all.is_cut_off(peer)) all.refuse_if_cut_off(fmt::format("a post ({})", name_of(opcode)), peer);
}

status unless_cut_off(device_state& dev, operation opcode, std::uint32_t peer, status answer) {
  if (!answer.is_retry()) [[likely]]
    return answer;
  if (!is_cut_off(dev, peer)) dev.runtime().peer_ends().look_after_retry();
  refuse_if_cut_off(dev, opcode, peer);
  return answer;
}

bool end_if_cut_off(device_state& dev, operation_state& operation) noexcept {
  const peers& all = dev.runtime().peers();
  if (!all.is_cut_off(operation.peer)) return false;
  operation.error = all.error_with(operation.peer);
  operation.reach(step::try_signal);
  return true;
}

bool end_if_ended(device_state& dev, operation_state& operation) noexcept {
  return dev.runtime().peers().has_ended(operation.peer) && end_if_cut_off(dev, operation);
}

unsigned end_operations_with_ended(device_state& dev, operation_walk& walk, std::uint64_t most) noexcept {
  const peers& all = dev.runtime().peers();
  unsigned ended = 0;
  dev.operations().each_some(walk, most, [&](operation_state& operation) {
    const std::uint32_t peer = operation.peer;
    if (peer >= dev.rank_count() || !all.is_settled(peer) || !take_waiting(dev, operation, peer)) return;
    operation.error = errc::peer_failed;
    complete::signal_or_defer(dev, operation);
    ++ended;
  });
  return ended;
}

void message_sink::on_lost(std::uint32_t peer, const net::header& header, const char* cause) noexcept {
  // A lost notice (send_budget.hpp, order_credits.hpp) harms no operation; often the peer has just ended.
  const wire kind = kind_of(header.kind);
  const bool is_missed = kind != wire::budget_notice && kind != wire::order_notice && kind != wire::order_request;
  dev().runtime().peers().cut_off(peer, cause, is_missed ? base::log_level::error : base::log_level::debug);
  operation_state* const operation = header.note == 0 ? nullptr : dev().operations().claim(header.note, peer);
  if (operation == nullptr) return;
  operation->error = errc::transport_failed;
  if (!complete::try_signal(dev(), *operation)) dev().defer(*operation);
}

}  // namespace weft::core
