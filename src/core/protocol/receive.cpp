// Posting a receive, cancelling one, and probing for a message (dang2016, 3.1; zhou2024, 3.4).
//
// Cost of a receive: an operation from its pool and the matching table's one cache line; a copy where the message is
// here already.
#include <cstring>

#include "base/fast_ways.hpp"
#include "core/device/device_state.hpp"
#include "core/message/message_body.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

match_key key_of(const receive_request& request) noexcept {
  if (!request.engine->is_ordered()) return request.engine->key_of(request.policy, request.peer, request.tag);
  const bool any = request.peer == any_rank;
  const match_policy left_open = any ? (request.any_tag ? match_policy::none : match_policy::tag_only)
                                     : (request.any_tag ? match_policy::rank_only : match_policy::rank_and_tag);
  return make_match_key(request.engine->id, left_open, request.peer, request.tag);
}

void describe(operation_state& receive, const receive_request& request) noexcept {
  receive.what = operation::receive;
  receive.peer = request.peer;
  receive.device = net::any_device;
  receive.tag = request.tag;
  receive.into = request.into;
  receive.bytes = 0;
  receive.message_bytes = 0;
  receive.context = request.context;
  // [receive.engine] relaxed: the engine's lock orders what counts.
  receive.engine.store(request.engine, std::memory_order_relaxed);
  receive.will_signal(*request.local);
}

}  // namespace

status device_state::post_receive(const receive_request& request) {
  return counts_.answered(operation::receive, request.into.bytes(), try_post_receive(request));
}

status device_state::try_post_receive(const receive_request& request) {
  operation_state* const receive = runtime_->receives().try_get();
  if (receive == nullptr) {
    const status late = receive_late(request);
    if (!late.is_retry() || request.allow_retry) return late;
    throw_backlog_full(operation::receive, request.peer, runtime_->receives().count());
  }
  describe(*receive, request);
  if (request.engine->receiver_first) return announce_receive(*receive, request);
  receive->key = key_of(request);
  receive->side = match_side::receive;
  const std::uint64_t ticket = receive->ticket.load(std::memory_order_relaxed);  // [own] until it is in the table
  receive->reach(step::wait_for_match);
  if (try_match(*receive)) return status::posted(ticket);
  if (!request.allow_retry) {
    take_up(*receive, step::match);
    return status::posted(ticket);
  }
  operation_state::take_back_signal(*request.local);
  runtime_->put_back(*receive);
  return status::retry(shortage::lock);
}

// There is no place for a receive that waits. One whose message is here gets a place that is kept for such.
status device_state::receive_late(const receive_request& request) noexcept {
  operation_state* const receive = runtime_->late_receives().try_get();
  if (receive == nullptr) return status::retry(shortage::receives);
  unexpected_message* const found = request.engine->receiver_first ? nullptr : probe(request);
  if (found == nullptr) {
    runtime_->put_back(*receive);
    return status::retry(shortage::receives);
  }
  return receive_probed(*receive, *found, request);
}

status device_state::receive_probed(operation_state& receive, unexpected_message& probed,
                                    const receive_request& request) noexcept {
  describe(receive, request);
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);  // [own] until then
  pair_up(receive, probed);
  return status::posted(ticket);
}

// The operation of a common receive, all but the step that it has reached.
[[gnu::always_inline]] inline match_key device_state::describe_plain(operation_state& receive,
                                                                     detail::message_source from, buffer_ref into,
                                                                     std::uint64_t tag, void* context) noexcept {
  engine_state& engine = runtime_->default_engine();
  receive.what = operation::receive;
  receive.peer = from.peer();
  receive.device = net::any_device;
  receive.tag = tag;
  receive.into = into;
  receive.context = context;
  // [receive.engine] relaxed: the engine's lock orders what counts.
  receive.engine.store(&engine, std::memory_order_relaxed);
  receive.side = match_side::receive;
  return receive.key = make_match_key(engine.id, policy_of(from.policy()), from.peer(), tag);
}

inline status device_state::post_plain_receive(detail::message_source from, buffer_ref into, completion& local,
                                               std::uint64_t tag, void* context) noexcept {
  // Calls nothing before the end: 130 instructions instead of 162.
  if (spare_count_ == 0 || !operation_state::is_counted_here(local)) [[unlikely]]
    return post_plain_receive_anew(from, into, local, tag, context);
  operation_state& receive = receives_->name(spare_receives_[--spare_count_]);
  const match_key key = describe_plain(receive, from, into, tag, context);
  receive.will_signal_here(local);
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);  // [own] until it is in the table
  receive.reach(step::wait_for_match);
  matching_table::half_done rest;
  if (!runtime_->matching().insert_at_once(receive, key, rest)) [[unlikely]]
    return end_plain_receive(receive, rest);
  counts_.posted_alone(operation::receive, into.bytes());  // a device that has spare ones is one thread's own
  return status::posted(ticket);
}

// By a thread whose device keeps no receives at hand, or none now.
[[gnu::noinline]] status device_state::post_plain_receive_anew(detail::message_source from, buffer_ref into,
                                                               completion& local, std::uint64_t tag,
                                                               void* context) noexcept {
  operation_state* const receive = get_receive();
  if (receive == nullptr) [[unlikely]]
    return counts_.answered(operation::receive, into.bytes(),
                            receive_late({.engine = &runtime_->default_engine(),
                                          .peer = from.peer(),
                                          .tag = tag,
                                          .policy = policy_of(from.policy()),
                                          .any_tag = false,
                                          .into = into,
                                          .local = &local,
                                          .context = context,
                                          .allow_retry = true}));
  static_cast<void>(describe_plain(*receive, from, into, tag, context));
  receive->will_signal(local);
  return insert_plain_receive(*receive, {});
}

// What the first step has left.
[[gnu::noinline]] status device_state::end_plain_receive(operation_state& receive,
                                                         matching_table::half_done rest) noexcept {
  return insert_plain_receive(receive, rest);
}

// It may be complete, and somebody else's, before this returns.
[[gnu::always_inline]] inline status device_state::insert_plain_receive(operation_state& receive,
                                                                        matching_table::half_done rest) noexcept {
  completion& local = *receive.target;
  const std::uint64_t bytes = receive.into.bytes();
  const std::uint64_t ticket = receive.ticket.load(std::memory_order_relaxed);  // [own] until it is in the table
  receive.reach(step::wait_for_match);
  match_node* found = nullptr;
  switch (runtime_->matching().insert_rest(rest, receive, found)) {
    [[likely]] case match_result::inserted : break;
    case match_result::matched: pair_up(receive, static_cast<unexpected_message&>(*found)); break;
    default:
      operation_state::take_back_signal(local);
      put_receive(receive);
      return counts_.retried(status::retry(shortage::lock));
  }
  counts_.posted(operation::receive, bytes);
  return status::posted(ticket);
}

operation_state* device_state::get_receive_anew() noexcept {
  if (spare_room_ == 0) return receives_->try_get_as_it_is();
  spare_count_ = receives_->take_many(spare_receives_.data(), (spare_room_ + 1) / 2);
  return spare_count_ == 0 ? nullptr : &receives_->name(spare_receives_[--spare_count_]);
}

void device_state::put_receive_back(operation_state& done) noexcept {
  if (spare_room_ == 0) {
    receives_->put(done);
    return;
  }
  const std::uint32_t kept = spare_room_ / 2;
  receives_->put_many(spare_receives_.data() + kept, spare_count_ - kept);
  spare_count_ = kept;
  spare_receives_[spare_count_++] = receives_->unname(done);
}

// False: another thread is in the way, nothing happened. After true the receive may be long complete: so it is at its
// step before, and one from the backlog stays at `match` while it waits.
bool device_state::try_match(operation_state& receive) noexcept {
  match_result result = match_result::busy;
  unexpected_message* found = nullptr;
  engine_state& engine = *receive.engine.load(std::memory_order_relaxed);  // [own]
  if (engine.is_ordered()) {
    ordered_message* message = nullptr;
    result = engine.ordered->post(receive, message);
    found = static_cast<unexpected_message*>(message);
  } else {
    match_node* message = nullptr;
    result = runtime_->matching().insert(receive, message);
    found = static_cast<unexpected_message*>(message);
  }
  if (result == match_result::matched) pair_up(receive, *found);
  return result != match_result::busy;
}

void device_state::pair_up(operation_state& receive, unexpected_message& with) noexcept {
  const bool has_packet = with.what.owner != nullptr;
  const std::uint32_t source = with.what.source;
  complete_receive(receive, with.what);
  runtime_->unexpected_sends().put(with);
  if (has_packet) tell_budget(source);
}

// Takes the receive out of its engine. `receive` is null where it is not waiting.
match_result device_state::take_out(std::uint64_t ticket, operation_state*& receive) noexcept {
  receive = runtime_->receives().find(ticket, step::wait_for_match);
  const bool was_put_off = receive == nullptr;
  if (was_put_off) receive = runtime_->receives().find(ticket, step::match);
  if (receive == nullptr) return ask_back(ticket);
  // While it waits in an engine it keeps its ticket, so this is certain where it is asked, under the engine's lock.
  const auto is_meant = [&](const match_node& node) {
    // [operation.meant] relaxed: the engine's lock orders it.
    return static_cast<const operation_state&>(node).ticket.load(std::memory_order_relaxed) == ticket;
  };
  // [receive.cancel] relaxed: where it is no longer the one that is meant, that is found out under the lock; its engine
  // was there after this thread began to read.
  const engine_state& engine = *receive->engine.load(std::memory_order_relaxed);
  const match_result result = engine.is_ordered() ? engine.ordered->remove(*receive, is_meant)
                                                  : runtime_->matching().remove(*receive, is_meant);
  // One that was put off may still be in the backlog, or have its message this moment.
  return result == match_result::none && was_put_off ? match_result::busy : result;
}

cancel_result device_state::cancel(std::uint64_t ticket) noexcept {
  operation_state* receive = nullptr;
  const match_result result = runtime_->engine_readers().read([&] { return take_out(ticket, receive); });
  if (result == match_result::busy) return cancel_result::busy;
  if (result != match_result::removed) return cancel_result::too_late;
  receive->error = errc::cancelled;
  receive->into = {};
  receive->message_bytes = 0;
  if (!signal(*receive)) take_up(*receive, step::signal);
  return cancel_result::cancelled;
}

unexpected_message* device_state::probe(const receive_request& what) noexcept {
  const match_key key = key_of(what);
  if (what.engine->is_ordered()) {
    ordered_message* found = nullptr;
    if (what.engine->ordered->take(key, found) != match_result::matched) return nullptr;
    return static_cast<unexpected_message*>(found);
  }
  match_node* found = nullptr;
  if (runtime_->matching().take(key, match_side::send, found) != match_result::matched) return nullptr;
  return static_cast<unexpected_message*>(found);
}

status device_state::receive(unexpected_message& probed, const receive_request& request) noexcept {
  operation_state* receive = runtime_->receives().try_get();
  if (receive == nullptr) receive = runtime_->late_receives().try_get();
  if (receive == nullptr) return counts_.retried(status::retry(shortage::receives));
  return counts_.answered(operation::receive, request.into.bytes(), receive_probed(*receive, probed, request));
}

// A message that nobody wants: its packet goes back; the sender of a long one gets its buffer back.
void device_state::discard(unexpected_message& probed) noexcept {
  if (kind_of(probed.what.header.kind) == wire::ready_to_receive) return give_up(probed, errc::unknown_completion);
  runtime_->count_dropped();
  const net::arrival& message = probed.what;
  if (kind_of(message.header.kind) == wire::send_rts) {
    if (operation_state* const answer = operation_for_unwanted(); answer != nullptr) {
      answer_unwanted(*answer, probed);
    } else {
      runtime_->unexpected().put_aside(probed);
      runtime_->parking().stir(index_);  // whoever sleeps here is to look for an operation
    }
    return;
  }
  give_back(message);
  let_go(probed);
}

void device_state::let_go(unexpected_message& done) noexcept {
  const std::uint32_t source = done.what.source;
  runtime_->unexpected_sends().put(done);
  tell_budget(source);
}

operation_state* device_state::operation_for_unwanted() noexcept {
  operation_state* const out = runtime_->arrivals().try_get();
  return out != nullptr ? out : runtime_->receives().try_get();
}

void device_state::answer_unwanted(operation_state& answer, unexpected_message& unwanted) noexcept {
  const bool is_receive = kind_of(unwanted.what.header.kind) == wire::ready_to_receive;
  answer.peer = unwanted.what.source;
  answer.device = net::any_device;
  if (is_receive) {
    ready_body body;
    std::memcpy(&body, unwanted.what.payload, sizeof body);
    answer.remote_ticket = body.ticket;
    answer.bytes = 0;
    answer.operand = static_cast<std::uint64_t>(unwanted.why);
  } else {
    rts_body body;
    std::memcpy(&body, unwanted.what.payload, sizeof body);
    answer.remote_ticket = body.ticket;
  }
  take_up(answer, is_receive ? step::send_written : step::send_fin);
  let_go(unwanted);
}

// Those that there was no operation for when they were dropped.
unsigned device_state::answer_all_unwanted() noexcept {
  unsigned answered = 0;
  for (; runtime_->unexpected().unwanted_count() != 0; ++answered) {
    operation_state* const answer = operation_for_unwanted();
    if (answer == nullptr) break;
    ordered_message* const unwanted = runtime_->unexpected().take_unwanted();
    if (unwanted == nullptr) {
      runtime_->put_back(*answer);
      break;
    }
    answer_unwanted(*answer, static_cast<unexpected_message&>(*unwanted));
  }
  return answered;
}

}  // namespace weft::core

namespace {

// With the same arguments, so that they can stay where they are.
[[gnu::noinline]] weft::status post_recv_otherwise(weft::core::device_state& through, weft::detail::message_source from,
                                                   weft::buffer_ref buffer, weft::completion& local, std::uint64_t tag,
                                                   void* context) {
  return through.post_any_receive(from.peer(), weft::core::target_payload{buffer}, local,
                                  {.tag = tag, .policy = from.policy(), .context = context});
}

}  // namespace

weft::status weft::detail::post_plain_recv(core::device_state& through, message_source from, buffer_ref buffer,
                                           completion& local, std::uint64_t tag, void* context) {
  if (base::has_fast_ways && from.peer() < through.rank_count() && buffer.address() != nullptr &&
      buffer.bytes() <= core::buffer_bytes_max) [[likely]] {
    return through.post_plain_receive(from, buffer, local, tag, context);
  }
  return post_recv_otherwise(through, from, buffer, local, tag, context);
}
