// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/numbered_credits.hpp"

#include <bit>

#include "core/protocol/arrive.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/protocol/lost_message.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::numbered_credits {

namespace {

order_credits& credits_of(device_state& dev) noexcept { return dev.matching().unexpected().credits(); }

bool try_send_notice(device_state& dev, std::uint32_t source, std::uint32_t device, std::uint32_t in_order) noexcept {
  const net::header header{.kind = static_cast<std::uint32_t>(wire::order_notice), .sequence = in_order};
  return dev.routes().endpoint_to(source).try_send_inline(source, device, header, nullptr, 0) == net::post_result::ok;
}

// Sends the notice that is due to `source`. False: it is due, and has to be sent later.
bool send_notice(device_state& dev, std::uint32_t source) noexcept {
  order_credits& credits = credits_of(dev);
  if (dev.matching().unexpected().holds_credits()) return !credits.has_notice(source);
  std::uint32_t in_order = 0;
  std::uint64_t devices = 0;
  if (!credits.next_notice(source, in_order, devices)) return true;
  if (!is_cut_off(dev, source)) {
    if (devices == 0 && !try_send_notice(dev, source, net::any_device, in_order)) return false;
    for (; devices != 0; devices &= devices - 1) {
      if (try_send_notice(dev, source, static_cast<std::uint32_t>(std::countr_zero(devices)), in_order)) continue;
      credits.owe(source, devices);
      return false;
    }
  }
  credits.note_sent(source, in_order);
  return true;
}

// Asks `target` for a notice to this device, unless it has asked.
[[gnu::noinline, gnu::cold]] void ask(device_state& dev, detail::message_target target) noexcept {
  const std::uint32_t rank = target.peer();
  std::uint32_t known = 0;
  if (!credits_of(dev).must_ask(rank, dev.index(), known)) return;
  const net::header header{.kind = asking_word(wire::order_request, dev.index()), .sequence = known};
  if (dev.routes().endpoint_to(rank).try_send_inline(rank, target.device(), header, nullptr, 0) !=
      net::post_result::ok) {
    credits_of(dev).unask(rank, dev.index());
  }
}

// Puts the next early messages in order that a call has left. False: another thread holds the engine's lock.
bool continue_early(device_state& dev, const order_rest::early_source& more) noexcept {
  const base::id_entry found = dev.matching().engines().find(more.engine);
  if (found.state != base::presence::present) return true;
  engine_state& engine = *static_cast<engine_state*>(found.object);
  matched_messages released;
  const match_key key = make_match_key(more.engine, match_policy::rank_tag, more.rank, 0);
  const match_result result = engine.ordered->continue_early(key, released);
  arrive_send::deliver_all(dev, released);
  return result != match_result::busy;
}

}  // namespace

bool refill(device_state& dev, ordered_numbers& numbers, detail::message_target target) noexcept {
  const std::int32_t before = numbers.credits(target.peer());
  if (before > 0) return true;
  const auto wanted = static_cast<std::uint32_t>(1 - before);
  const std::uint32_t count = credits_of(dev).take(target.peer(), wanted);
  if (count != 0) numbers.add_credits(target.peer(), count);
  if (count >= wanted) return true;
  ask(dev, target);
  return false;
}

void release_unused(device_state& dev, ordered_numbers& numbers, std::uint32_t target) noexcept {
  if (!credits_of(dev).is_scarce(target)) return;
  const std::uint32_t count = numbers.take_credits(target);
  if (count != 0) credits_of(dev).put_back(target, static_cast<std::int32_t>(count));
}

// An engine that has ended here has got credits for all of its numbers (`matching_store::end_numbers`).
bool may_send(device_state& dev, operation_state& operation, std::uint32_t id) noexcept {
  if (!operation.sending.lacks_credit) [[likely]]
    return true;
  const base::id_entry found = dev.matching().engines().find(id);
  if (found.state == base::presence::present) {
    ordered_numbers& numbers = static_cast<engine_state*>(found.object)->numbers;
    const std::uint32_t number = operation.sending.sequence;
    if (!numbers.has_credit_for(operation.peer, number)) {
      static_cast<void>(refill(dev, numbers, {operation.peer, operation.device}));
      if (!numbers.has_credit_for(operation.peer, number)) return false;
    }
  }
  operation.sending.lacks_credit = false;
  return true;
}

bool on_order_notice(device_state& dev, const net::arrival& message) noexcept {
  if (message.owner != nullptr || message.bytes != 0 ||
      !credits_of(dev).on_notice(message.source, dev.index(), message.header.sequence)) {
    return arrive::reject(dev, message);
  }
  return true;
}

bool on_order_request(device_state& dev, const net::arrival& message) noexcept {
  if (message.owner != nullptr || message.bytes != 0) return arrive::reject(dev, message);
  const std::uint32_t device = asker_of(message.header.kind);
  if (credits_of(dev).wait_for_notice(message.source, device, message.header.sequence) &&
      !send_notice(dev, message.source)) {
    dev.matching().order_rest().note_notices();
  }
  return true;
}

void put_in_order(device_state& dev, std::uint32_t source, std::uint32_t count) noexcept {
  if (credits_of(dev).put_in_order(source, count) && !send_notice(dev, source))
    dev.matching().order_rest().note_notices();
}

void drop_or_keep(device_state& dev, const net::arrival& message) noexcept {
  if (message.header.sequence != 0 && !dev.is_redelivering()) put_in_order(dev, message.source, 1);
}

[[gnu::noinline]] void continue_call(device_state& dev, const matched_messages& released) noexcept {
  if (released.in_order() != 0) put_in_order(dev, released.source(), released.in_order());
  if (!released.has_more()) return;
  const order_rest::early_source more{released.engine(), released.source()};
  if (dev.matching().order_rest().try_add(more)) {
    dev.runtime().parking().wake_everybody();
    return;
  }
  // Many sources have early messages at this moment: this call continues.
  for (base::backoff waiting; !continue_early(dev, more);) waiting.pause();
}

unsigned continue_rest(device_state& dev) noexcept {
  order_rest& rest = dev.matching().order_rest();
  unsigned moved = 0;
  if (order_rest::early_source more{}; rest.try_take(more)) {
    if (continue_early(dev, more)) {
      ++moved;
    } else if (!rest.try_add(more)) {
      for (base::backoff waiting; !continue_early(dev, more);) waiting.pause();
    }
  }
  if (!rest.take_notices()) return moved;
  for (std::uint32_t rank = 0; rank < dev.rank_count(); ++rank) {
    if (!send_notice(dev, rank)) rest.note_notices();
  }
  return moved;
}

}  // namespace weft::core::numbered_credits
