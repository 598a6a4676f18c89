// SPDX-License-Identifier: BSD-3-Clause
#include "support/all_operations_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "support/waiting.hpp"

namespace weft::test::all_operations {
namespace {

constexpr std::byte untouched{0xee};
constexpr std::byte gone{0xdd};
constexpr std::size_t pending_max = 24;
constexpr std::size_t kept_max = 12;

}  // namespace

worker::worker(rank_state& rank, device& dev, std::uint32_t thread)
    : rank_{rank},
      dev_{dev},
      thread_{thread},
      random_{rank.plans().workload().seed * 6700417 + rank.rt().rank() * 64 + thread},
      receiver_{rank, dev, thread, counts_},
      completed_{rank.rt(), {.unbounded = true}},
      slots_(std::size_t{peers()} * 2 * script::slots),
      words_(std::size_t{peers()} * 2 * 2) {}

void worker::run() {
  receiver_.post_first();
  for (const plan& each : rank_.plans().planned(rank_.rt().rank(), thread_)) {
    step(each);
    dev_.progress();
    serve();
    if (pending_.size() > pending_max) {
      until(&each, "too much stays under way", [&] { return pending_.size() <= pending_max / 2; });
    }
  }
  const auto all_seen = [&] {
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      const std::uint32_t where = i / script::slots;
      if (rank_.unseen(thread_, where / 2, where % 2, i % script::slots).is_raised()) return false;
    }
    return true;
  };
  until(nullptr, "not everything that was posted is complete",
        [&] { return pending_.empty() && receiver_.is_through() && to_tell_.empty() && all_seen(); });
  dev_.flush();
  until(nullptr, "not everything has come", [&] { return rank_.everything_came() && to_tell_.empty(); });
  while (!kept_.empty()) give_back_oldest();
  rank_.one_is_through();
  // Messages for a living device need a thread that polls it; a destroyed device leaves them to the default device.
  if (dev_.is_shared()) until(nullptr, "other threads are not through", [&] { return rank_.all_are_through(); });
}

void worker::step(const plan& planned) {
  switch (planned.kind) {
    case action::am: return send_am(planned);
    case action::send:
    case action::ordered_send: return send(planned);
    case action::put:
    case action::put_signal: return put(planned);
    case action::get:
    case action::get_signal: return get(planned);
    case action::own_atomic: return own_atomic(planned);
    case action::shared_atomic: return shared_atomic(planned);
    case action::cancel: return receiver_.cancel();
    case action::flush: return flush(planned, planned.key % 4 == 0);
  }
}

std::unique_ptr<worker::outgoing> worker::make(const plan& planned, operation kind, bool filled) const {
  auto out = std::make_unique<outgoing>();
  out->planned = &planned;
  out->kind = kind;
  if (!filled) return out;
  out->bytes.resize(planned.bytes);
  fill(out->bytes, planned.key);
  const std::size_t a = planned.bytes / 4, b = planned.bytes / 2;
  out->pieces = {const_buffer_ref{out->bytes.data(), a}, const_buffer_ref{out->bytes.data() + a, b - a},
                 const_buffer_ref{out->bytes.data() + b, planned.bytes - b}};
  return out;
}

template <class Post>
void worker::post(std::unique_ptr<outgoing> made, Post once) {
  outgoing& message = *made;
  const plan& planned = *message.planned;
  status answer = status::retry(shortage::none);
  until(&planned, "was answered with retry for a minute", [&] {
    try {
      answer = once(message);
    } catch (const error& problem) {
      if (problem.code() != errc::backlog_full || planned.allow_retry) rank_.fail(&planned, problem.what());
      return false;
    }
    if (!answer.is_retry()) return true;
    rank_.require(planned.allow_retry, &planned, "retry, though that was forbidden");
    ++counts_.retried;
    return false;
  });
  if (answer.is_done()) {
    rank_.require(planned.allow_done, &planned, "done, though that was forbidden");
    ++counts_.done;
    finish(message);
    std::ranges::fill(message.bytes, gone);
    return;
  }
  ++counts_.posted;
  pending_.emplace(&message, std::move(made));
}

void worker::send_am(const plan& planned) {
  const remote_completion to{rank_.id_of(planned.number % 2 == 0 ? id::called : id::queued)};
  post(make(planned, operation::active_message, true), [&](outgoing& message) {
    const post_am_options options{
        .tag = planned.tag(),
        .device = planned.device,
        .complete_at = planned.delivered ? completion_level::delivered : completion_level::local,
        .context = &message,
        .allow_done = planned.allow_done,
        .allow_retry = planned.allow_retry};
    if (planned.as_list) return dev_.post_am(planned.peer, to, const_buffer_list{message.pieces}, completed_, options);
    return dev_.post_am(planned.peer, to, message.bytes, completed_, options);
  });
}

void worker::send(const plan& planned) {
  const bool ordered = planned.kind == action::ordered_send;
  const bool of_thread = ordered && thread_ % 2 == 1;
  post(make(planned, operation::send, true), [&](outgoing& message) {
    const post_send_options options{
        .tag = ordered && !of_thread ? thread_ : planned.tag(),
        .engine = rank_.engine_of(planned),
        .policy = ordered ? match_policy::rank_tag : planned.policy,
        .complete_at = planned.delivered ? completion_level::delivered : completion_level::local,
        .device = planned.device,
        .context = &message,
        .allow_done = planned.allow_done,
        .allow_retry = planned.allow_retry};
    if (planned.as_list) return dev_.post_send(planned.peer, const_buffer_list{message.pieces}, completed_, options);
    return dev_.post_send(planned.peer, message.bytes, completed_, options);
  });
}

worker::slot& worker::use_slot(const plan& planned, bool is_put) {
  slot& position = slot_of(planned.peer, planned.region, planned.slot);
  const flag& unseen = rank_.unseen(thread_, planned.peer, planned.region, planned.slot);
  until(&planned, "its place stays in use",
        [&] { return position.puts == 0 && (!is_put || position.gets == 0) && !unseen.is_raised(); });
  if (position.undelivered && position.last->kind == action::put_signal)
    position.undelivered = false;  // the peer has seen it
  if (position.undelivered) flush(planned, false);
  return position;
}

void worker::put(const plan& planned) {
  slot& position = use_slot(planned, true);
  position.last = &planned;
  position.undelivered = true;
  ++position.puts;
  auto made = make(planned, operation::put, true);
  made->position = &position;
  const bool signals = planned.kind == action::put_signal;
  if (signals) rank_.unseen(thread_, planned.peer, planned.region, planned.slot).raise();
  const remote_buffer to{rank_.handle(planned.peer, planned.region), rank_.plans().offset_of(planned)};
  post(std::move(made), [&](outgoing& message) {
    post_put_options options{.tag = planned.tag(),
                             .complete_at = planned.delivered ? completion_level::delivered : completion_level::local,
                             .device = planned.device,
                             .context = &message,
                             .allow_done = planned.allow_done,
                             .allow_retry = planned.allow_retry};
    if (signals) options.signal = {rank_.id_of(id::signals)};
    if (planned.as_list) return dev_.post_put(planned.peer, const_buffer_list{message.pieces}, to, completed_, options);
    return dev_.post_put(planned.peer, message.bytes, to, completed_, options);
  });
}

// A part of the bytes that were put last, or of the zeroes that were there at first.
void worker::get(const plan& planned) {
  slot& position = use_slot(planned, false);
  ++position.gets;
  auto made = make(planned, operation::get, false);
  made->position = &position;
  made->got = position.last;
  made->got_bytes = planned.bytes;
  std::uint64_t offset = rank_.plans().offset_of(planned) - planned.offset;
  if (position.last != nullptr) {
    made->got_from = planned.key % (std::min(position.last->bytes, rank_.plans().usual_bytes_max()) + 1);
    made->got_bytes = std::min(planned.bytes, position.last->bytes - made->got_from);
    offset += position.last->offset + made->got_from;
  }
  made->bytes.assign(made->got_bytes + 8, untouched);
  const remote_buffer from{rank_.handle(planned.peer, planned.region), offset};
  post(std::move(made), [&](outgoing& message) {
    post_get_options options{.tag = planned.tag(),
                             .device = planned.device,
                             .context = &message,
                             .allow_done = planned.allow_done,
                             .allow_retry = planned.allow_retry};
    if (planned.kind == action::get_signal) options.signal = {rank_.id_of(id::signals)};
    return dev_.post_get(planned.peer, buffer_ref{message.bytes.data(), message.got_bytes}, from, completed_, options);
  });
}

void worker::own_atomic(const plan& planned) {
  const bool wide = script::is_wide(planned);
  word& position = words_[(std::size_t{planned.peer} * 2 + planned.region) * 2 + (wide ? 1 : 0)];
  until(&planned, "its word stays in use", [&] { return !position.is_busy; });
  const atomic_plan change = script::own_atomic(planned, position.value);
  auto made = make(planned, operation::atomic, false);
  made->changed = &position;
  made->old = position.value;
  position.is_busy = true;
  position.value = combine(change, position.value);
  const remote_buffer target{rank_.handle(planned.peer, planned.region),
                             rank_.plans().own_word_at(planned.source, planned.thread, wide)};
  const auto post_as = [&](outgoing& message, auto operand, auto* result) {
    using number = decltype(operand);
    const post_atomic_options<number> options{
        .result = result,
        .compare = static_cast<number>(change.compare),
        .complete_at = planned.delivered ? completion_level::delivered : completion_level::local,
        .device = planned.device,
        .context = &message,
        .allow_done = planned.allow_done,
        .allow_retry = planned.allow_retry};
    return dev_.post_atomic(planned.peer, change.op, operand, target, completed_, options);
  };
  post(std::move(made), [&](outgoing& message) {
    if (wide) return post_as(message, change.operand, &message.result);
    // The low half, on the machines that there are.
    return post_as(message, static_cast<std::uint32_t>(change.operand),
                   reinterpret_cast<std::uint32_t*>(&message.result));
  });
}

void worker::shared_atomic(const plan& planned) {
  const remote_buffer target{rank_.handle(planned.peer, planned.region),
                             rank_.plans().shared_word_at(script::shared_word(planned))};
  post(make(planned, operation::atomic, false), [&](outgoing& message) {
    const post_atomic_options<std::uint64_t> options{
        .result = planned.as_list ? &message.result : nullptr,
        .complete_at = planned.delivered ? completion_level::delivered : completion_level::local,
        .device = planned.device,
        .context = &message,
        .allow_done = planned.allow_done,
        .allow_retry = planned.allow_retry};
    return dev_.post_atomic(planned.peer, atomic_op::fetch_add, script::shared_operand(planned), target, completed_,
                            options);
  });
}

void worker::flush(const plan& planned, bool everybody) {
  try {
    if (everybody) {
      dev_.flush();
    } else {
      dev_.flush(planned.peer);
    }
  } catch (const error& problem) {
    rank_.fail(&planned, problem.what());
  }
  ++counts_.flushed;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (everybody || i / (2 * script::slots) == planned.peer) slots_[i].undelivered = false;
  }
}

// A post is complete.
void worker::finish(outgoing& message) {
  const plan& planned = *message.planned;
  if (message.kind == operation::put) {
    --message.position->puts;
    if (planned.delivered) message.position->undelivered = false;
  } else if (message.kind == operation::get) {
    --message.position->gets;
    check_got(message);
  } else if (message.changed != nullptr) {
    message.changed->is_busy = false;
    if (message.result != message.old)
      rank_.fail(&planned, fmt::format("found {:#x} instead of {:#x}", message.result, message.old));
  }
}

void worker::check_got(const outgoing& message) const {
  const auto got = std::span{message.bytes}.first(message.got_bytes);
  if (message.got == nullptr) {
    rank_.require(std::ranges::all_of(got, [](std::byte b) { return b == std::byte{}; }), message.planned,
                  "got no zeroes");
  } else if (const auto wrong = first_wrong(got, message.got->key, message.got_from)) {
    rank_.fail(message.planned, fmt::format("got a wrong byte {} of {} from byte {} on of what operation {} had put",
                                            *wrong, got.size(), message.got_from, message.got->number));
  }
  const auto rest = std::span{message.bytes}.subspan(message.got_bytes);
  rank_.require(std::ranges::all_of(rest, [](std::byte b) { return b == untouched; }), message.planned, "got too much");
}

template <class Condition>
void worker::until(const plan* planned, const char* description, Condition done) {
  const bool is_done = eventually(dev_, [&] {
    if (done()) return true;
    serve();
    return false;
  });
  if (is_done) return;
  rank_.fail(planned,
             fmt::format("thread {}: {} (of messages and signals {} of {} came; {} posts under way, {} to tell; {})",
                         thread_, description, rank_.arrived_count(), rank_.expected_count(), pending_.size(),
                         to_tell_.size(), receiver_.missing()));
}

void worker::serve() {
  receiver_.serve();
  while (auto record = completed_.pop()) {
    const auto node = pending_.extract(static_cast<const outgoing*>(record->context()));
    rank_.require(!node.empty(), nullptr, "something was completed that is not under way");
    outgoing& message = *node.mapped();
    if (record->error() != errc::none) rank_.fail(message.planned, fmt::format("failed: {}", name_of(record->error())));
    rank_.require(record->operation() == message.kind && record->peer() == message.planned->peer, message.planned,
                  "is another operation");
    finish(message);
  }
  for (int i = 0; i < 4; ++i) {
    auto got = rank_.queued().pop();
    if (!got) {
      if (!kept_.empty()) give_back_oldest();
      break;
    }
    rank_.check_message(*got);
    rank_.arrived(rank_.expect(got->source(), got->tag()));
    if (random_.one_in(4)) kept_.push_back(std::move(*got));
    if (kept_.size() > kept_max) give_back_oldest();
  }
  take_signals();
}

void worker::take_signals() {
  for (int i = 0; i < 4; ++i) {
    const auto got = rank_.signals().pop();
    if (!got) break;
    const plan& planned = rank_.check_signal(*got);
    if (planned.kind == action::put_signal) to_tell_.push_back(&planned);
    rank_.arrived(planned);
  }
  if (to_tell_.empty()) return;
  // Small, so it is done or retry.
  const plan& planned = *to_tell_.front();
  const status answer =
      dev_.post_am(planned.source, {rank_.id_of(id::seen)}, const_buffer_ref{}, completed_, {.tag = planned.tag()});
  rank_.require(!answer.is_posted(), &planned, "an empty message was posted");
  if (answer.is_done()) to_tell_.pop_front();
}

// Its bytes are unchanged since its arrival: no thread has written into its packet meanwhile.
void worker::give_back_oldest() {
  rank_.check_message(kept_.front());
  kept_.pop_front();
}

}  // namespace weft::test::all_operations

namespace weft::test {
namespace {

void add(all_operations_summary& sum, const all_operations_summary& more) {
  sum.done += more.done;
  sum.posted += more.posted;
  sum.retried += more.retried;
  sum.cancelled += more.cancelled;
  sum.cancelled_too_late += more.cancelled_too_late;
  sum.truncated += more.truncated;
  sum.probed += more.probed;
  sum.flushed += more.flushed;
}

}  // namespace

all_operations_summary run_all_operations(runtime& rt, const all_operations_load& load) {
  const all_operations::script plans{load, rt.size(), rt.attributes()};
  all_operations_summary sum;
  {
    all_operations::rank_state rank{rt, plans};
    std::optional<device> shared;
    if (load.on_shared > 0) shared.emplace(rt);
    std::vector<all_operations_summary> counts(load.threads());
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < load.threads(); ++t) {
      threads.emplace_back([&, t] {
        try {
          std::optional<device> own;
          if (t >= load.on_default + load.on_shared) own.emplace(rt, device_options{.shared = false});
          device& dev = own ? *own : t < load.on_default ? rt.default_device() : *shared;
          all_operations::worker worker{rank, dev, t};
          worker.run();
          counts[t] = worker.counts();
        } catch (const std::exception& problem) {
          rank.fail(nullptr, problem.what());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    shared.reset();
    rt.barrier();
    rank.require(!rank.queued().pop() && !rank.signals().pop(), nullptr, "more came than was sent");
    rank.check_regions();
    rank.check_counters();
    for (const auto& each : counts) add(sum, each);
    rt.barrier();
  }
  return sum;
}

}  // namespace weft::test
