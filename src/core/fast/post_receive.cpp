// SPDX-License-Identifier: BSD-3-Clause
// Posting the common receive: into one buffer, from the default engine, or from one named by its object. In an ordered
// engine it may leave rank or tag open.
//
// Cost on a device of one thread's own: one of its spare receives, the matching table's one cache line, and the line of
// the counters. In an ordered engine: its lock, and the queue of the receive's key. The general twin:
// protocol/receive.cpp.
#include "core/fast/post_receive.hpp"

#include "base/fast_paths.hpp"
#include "core/api/post_send_recv.hpp"
#include "core/message/peer_bounds.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/protocol/receive.hpp"
#include "core/runtime/matching_store.hpp"

namespace weft::core::fast {
namespace {

bool is_good(device_state& dev, detail::message_source from, detail::ordinary_buffer buffer) noexcept {
  return dev.marks().is_unasked_rank(from.peer()) && buffer.address != nullptr && buffer.bytes <= buffer_bytes_max;
}

// Sets the operation of a common receive, except for the step that it has reached.
[[gnu::always_inline]] inline match_key describe(engine_state& engine, operation_state& receive,
                                                 detail::message_source from, detail::ordinary_buffer into,
                                                 std::uint64_t tag, void* context) noexcept {
  receive.opcode = operation::receive;
  receive.peer = from.peer();
  receive.device = net::any_device;
  receive.tag = tag;
  receive.receiving.into = into;
  receive.owed.context = context;
  // [receive.engine] relaxed -> [operation.ended_in]: the engine's lock orders what counts.
  receive.receiving.engine.store(&engine, std::memory_order_relaxed);
  receive.side = match_side::receive;
  return receive.key = make_match_key(engine.id, from.policy(), from.peer(), tag);
}

// The operation may be complete before this returns, and in use for another receive.
[[gnu::always_inline]] inline status match_or_insert(device_state& dev, operation_state& receive,
                                                     matching_table::half_done rest) noexcept {
  completion& local = *receive.owed.target;
  const std::uint64_t bytes = receive.receiving.into.bytes();
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);  // [own] until it is in the table
  receive.reach(step::wait_for_match);
  match_node* found = nullptr;
  switch (dev.matching().table().insert_rest(rest, receive, found)) {
    [[likely]] case match_result::inserted : break;
    case match_result::matched:
      receive::deliver_unexpected(dev, receive, static_cast<unexpected_message&>(*found));
      break;
    default:
      promise::cancel(local);
      dev.own_receives().put(receive);
      return dev.counts().retried(status::retry(shortage::lock));
  }
  dev.counts().posted(operation::receive, bytes);
  return status::posted(ticket);
}

// Serves a device that keeps no receives, or has none now.
[[gnu::noinline]] status post_receive_slow(device_state& dev, detail::message_source from, detail::ordinary_buffer into,
                                           completion& local, std::uint64_t tag, void* context,
                                           engine_state& engine) noexcept {
  operation_state* const receive = dev.own_receives().get();
  if (receive == nullptr) [[unlikely]]
    return dev.counts().answered(operation::receive, into.bytes,
                                 receive::receive_late(dev, {.engine = &engine,
                                                             .peer = from.peer(),
                                                             .tag = tag,
                                                             .policy = from.policy(),
                                                             .any_tag = false,
                                                             .into = into,
                                                             .local = &local,
                                                             .context = context,
                                                             .allow_retry = true}));
  static_cast<void>(describe(engine, *receive, from, into, tag, context));
  receive->will_signal(local);
  return match_or_insert(dev, *receive, {});
}

// Completes an insertion that `fast_insert` has left half done.
[[gnu::noinline]] status end_receive_slow(device_state& dev, operation_state& receive,
                                          matching_table::half_done rest) noexcept {
  return match_or_insert(dev, receive, rest);
}

// The common receive: into one buffer, from an engine that uses the matching table; it may answer retry. The caller has
// checked the arguments.
[[gnu::always_inline]] inline status post_receive(device_state& dev, detail::message_source from,
                                                  detail::ordinary_buffer into, completion& local, std::uint64_t tag,
                                                  void* context, engine_state& engine) noexcept {
  // Calls no function but in tail position: 130 instructions instead of 162.
  if (!dev.own_receives().has_some() || !promise::has_own_word(local)) [[unlikely]]
    return post_receive_slow(dev, from, into, local, tag, context, engine);
  operation_state& receive = dev.own_receives().take();
  const match_key key = describe(engine, receive, from, into, tag, context);
  receive.will_signal_here(local);
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);  // [own] until it is in the table
  receive.reach(step::wait_for_match);
  matching_table::half_done rest;
  if (!dev.matching().table().fast_insert(receive, key, rest)) [[unlikely]]
    return end_receive_slow(dev, receive, rest);
  dev.counts().posted_alone(operation::receive, into.bytes);  // only a device of one thread's own keeps receives
  return status::posted(ticket);
}

[[gnu::noinline]] status post_checked_in(device_state& dev, detail::message_source from, detail::ordinary_buffer buffer,
                                         completion& local, std::uint64_t tag, void* context, engine_state& engine) {
  return post_receive_checked(dev, from.peer(), target_payload{buffer}, local,
                              {.tag = tag, .engine = {engine.id, engine}, .policy = from.policy(), .context = context});
}

// A receive in an engine that matches by policy in the table.
[[gnu::noinline]] status post_by_policy(device_state& dev, detail::message_source from, detail::ordinary_buffer buffer,
                                        completion& local, std::uint64_t tag, void* context, engine_state& engine) {
  if (base::has_fast_paths && is_good(dev, from, buffer)) [[likely]]
    return post_receive(dev, from, buffer, local, tag, context, engine);
  return post_checked_in(dev, from, buffer, local, tag, context, engine);
}

// Posts a receive in its ordered engine, from the state on that `fast_post` has left it in. Before this returns, the
// operation may be complete.
[[gnu::noinline]] status end_in_order(device_state& dev, operation_state& receive, fast_posted reached) noexcept {
  completion& local = *receive.owed.target;
  const std::uint64_t bytes = receive.receiving.into.bytes();
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);       // [own]
  engine_state& engine = *receive.receiving.engine.load(std::memory_order_relaxed);  // [own]
  ordered_message* found = nullptr;
  matched_messages released;
  const match_result result = engine.ordered->post_rest(reached, receive, found, released);
  if (result == match_result::matched)
    receive::deliver_unexpected(dev, receive, static_cast<unexpected_message&>(*found));
  arrive_send::deliver_all(dev, released);
  if (result == match_result::busy) {
    promise::cancel(local);
    dev.own_receives().put(receive);
    return dev.counts().retried(status::retry(shortage::lock));
  }
  dev.counts().posted(operation::receive, bytes);
  return status::posted(ticket);
}

// Whether it is the common receive in an ordered engine: it names rank and tag.
[[gnu::always_inline]] inline bool is_good_in_order(device_state& dev, detail::message_source from,
                                                    detail::ordinary_buffer into, const engine_state& engine) noexcept {
  return base::has_fast_paths && is_good(dev, from, into) && engine.home == &dev.runtime() &&
         engine.kind == engine_kind::ordered && from.policy() == match_policy::rank_tag;
}

// Serves a device that keeps no receives, or has none now.
[[gnu::noinline]] status post_in_order_slow(device_state& dev, detail::message_source from,
                                            detail::ordinary_buffer into, completion& local, std::uint64_t tag,
                                            void* context, engine_state& engine) {
  operation_state* const receive = dev.own_receives().get();
  if (receive == nullptr) [[unlikely]]
    return post_checked_in(dev, from, into, local, tag, context, engine);
  static_cast<void>(describe(engine, *receive, {from.peer(), match_policy::rank_tag}, into, tag, context));
  receive->will_signal(local);
  const std::uint64_t ticket = receive->ticket.load(std::memory_order_relaxed);  // [own] until it is in the engine
  receive->reach(step::wait_for_match);
  if (const fast_posted reached = engine.ordered->fast_post(*receive); reached != fast_posted::inserted) [[unlikely]]
    return end_in_order(dev, *receive, reached);
  dev.counts().posted(operation::receive, into.bytes);
  return status::posted(ticket);
}

// Whether it is a common receive in an ordered engine that leaves the rank open, and perhaps the tag.
bool is_from_any_rank(device_state& dev, detail::message_source from, detail::ordinary_buffer into,
                      const engine_state& engine) noexcept {
  return base::has_fast_paths && from.peer() == any_rank && into.address != nullptr && into.bytes <= buffer_bytes_max &&
         engine.home == &dev.runtime() && engine.kind == engine_kind::ordered &&
         from.policy() == match_policy::rank_tag;
}

// Such a receive, or one that leaves the tag open. `from` has the rank, or `any_rank`, and what the receive compares.
[[gnu::noinline]] status post_open(device_state& dev, detail::message_source from, detail::ordinary_buffer into,
                                   completion& local, std::uint64_t tag, void* context, engine_state& engine) {
  operation_state* const receive = dev.own_receives().get();
  if (receive == nullptr) [[unlikely]] {
    const bool any_tag = from.policy() != match_policy::tag_only;
    return post_receive_checked(dev, from.peer(), target_payload{into}, local,
                                {.tag = tag, .engine = {engine.id, engine}, .any_tag = any_tag, .context = context});
  }
  static_cast<void>(describe(engine, *receive, from, into, tag, context));
  receive->will_signal(local);
  const std::uint64_t ticket = receive->ticket.load(std::memory_order_relaxed);  // [own] until it is in the engine
  receive->reach(step::wait_for_match);
  if (const fast_posted reached = engine.ordered->fast_post(*receive, true); reached != fast_posted::inserted)
      [[unlikely]]
    return end_in_order(dev, *receive, reached);
  dev.counts().posted(operation::receive, into.bytes);
  return status::posted(ticket);
}

// What is not the common receive of an ordered engine.
[[gnu::noinline]] status post_uncommon(device_state& dev, detail::message_source from, detail::ordinary_buffer into,
                                       completion& local, std::uint64_t tag, void* context, engine_state& engine) {
  if (!is_from_any_rank(dev, from, into, engine)) return post_checked_in(dev, from, into, local, tag, context, engine);
  return post_open(dev, {any_rank, match_policy::tag_only}, into, local, tag, context, engine);
}

// A receive in an engine that does not match by policy in the table; mostly the common one in an ordered engine.
[[gnu::noinline]] status post_in_order(device_state& dev, detail::message_source from, detail::ordinary_buffer into,
                                       completion& local, std::uint64_t tag, void* context, engine_state& engine) {
  if (!is_good_in_order(dev, from, into, engine)) [[unlikely]]
    return post_uncommon(dev, from, into, local, tag, context, engine);
  if (!dev.own_receives().has_some() || !promise::has_own_word(local)) [[unlikely]]
    return post_in_order_slow(dev, from, into, local, tag, context, engine);
  operation_state& receive = dev.own_receives().take();
  static_cast<void>(describe(engine, receive, {from.peer(), match_policy::rank_tag}, into, tag, context));
  receive.will_signal_here(local);
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);  // [own] until it is in the engine
  receive.reach(step::wait_for_match);
  if (const fast_posted reached = engine.ordered->fast_post(receive); reached != fast_posted::inserted) [[unlikely]]
    return end_in_order(dev, receive, reached);
  dev.counts().posted_alone(operation::receive, into.bytes);
  return status::posted(ticket);
}

// Has the same arguments as its caller, so that they stay in their registers.
[[gnu::noinline]] status post_checked(device_state& dev, detail::message_source from, detail::ordinary_buffer buffer,
                                      completion& local, std::uint64_t tag, void* context) {
  return post_receive_checked(dev, from.peer(), target_payload{buffer}, local,
                              {.tag = tag, .policy = from.policy(), .context = context});
}

}  // namespace

status post_with_any_tag(device_state& dev, detail::message_source from, detail::ordinary_buffer buffer,
                         completion& local, std::uint64_t tag, void* context, engine_state& engine) {
  if (is_good_in_order(dev, from, buffer, engine) || is_from_any_rank(dev, from, buffer, engine)) [[likely]] {
    const detail::message_source open{from.peer(), open_policy(from.peer(), true)};
    return post_open(dev, open, buffer, local, tag, context, engine);
  }
  return post_receive_checked(
      dev, from.peer(), target_payload{buffer}, local,
      {.tag = tag, .engine = {engine.id, engine}, .policy = from.policy(), .any_tag = true, .context = context});
}

}  // namespace weft::core::fast

weft::status weft::detail::fast_post_recv(core::device_state& dev, message_source from, detail::ordinary_buffer buffer,
                                          completion& local, std::uint64_t tag, void* context) {
  if (base::has_fast_paths && core::fast::is_good(dev, from, buffer)) [[likely]] {
    return core::fast::post_receive(dev, from, buffer, local, tag, context, dev.matching().engines().standard());
  }
  return core::fast::post_checked(dev, from, buffer, local, tag, context);
}

weft::status weft::detail::fast_recv_in(core::device_state& dev, message_source from, detail::ordinary_buffer buffer,
                                        completion& local, std::uint64_t tag, void* context,
                                        core::engine_state& engine) {
  // Calls in tail position with the arguments in their places, so that no register is saved before them.
  if (engine.home_of_simple != &dev.runtime())
    return core::fast::post_in_order(dev, from, buffer, local, tag, context, engine);
  return core::fast::post_by_policy(dev, from, buffer, local, tag, context, engine);
}
