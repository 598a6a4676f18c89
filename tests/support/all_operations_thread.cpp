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
  for (const plan& each : rank_.plans().of(rank_.rt().rank(), thread_)) {
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

void worker::step(const plan& of) {
  switch (of.kind) {
    case action::am: return send_am(of);
    case action::send:
    case action::ordered_send: return send(of);
    case action::put:
    case action::put_signal: return put(of);
    case action::get:
    case action::get_signal: return get(of);
    case action::own_atomic: return own_atomic(of);
    case action::shared_atomic: return shared_atomic(of);
    case action::cancel: return receiver_.cancel();
    case action::flush: return flush(of, of.key % 4 == 0);
  }
}

std::unique_ptr<worker::outgoing> worker::make(const plan& of, operation kind, bool filled) const {
  auto out = std::make_unique<outgoing>();
  out->of = &of;
  out->kind = kind;
  if (!filled) return out;
  out->bytes.resize(of.bytes);
  fill(out->bytes, of.key);
  const std::size_t a = of.bytes / 4, b = of.bytes / 2;
  out->pieces = {const_buffer_ref{out->bytes.data(), a}, const_buffer_ref{out->bytes.data() + a, b - a},
                 const_buffer_ref{out->bytes.data() + b, of.bytes - b}};
  return out;
}

template <class Post>
void worker::post(std::unique_ptr<outgoing> made, Post once) {
  outgoing& message = *made;
  const plan& of = *message.of;
  status answer = status::retry(shortage::none);
  until(&of, "was answered with retry for a minute", [&] {
    try {
      answer = once(message);
    } catch (const error& problem) {
      if (problem.code() != errc::backlog_full || of.allow_retry) rank_.fail(&of, problem.what());
      return false;
    }
    if (!answer.is_retry()) return true;
    rank_.require(of.allow_retry, &of, "retry, though that was forbidden");
    ++counts_.retried;
    return false;
  });
  if (answer.is_done()) {
    rank_.require(of.allow_done, &of, "done, though that was forbidden");
    ++counts_.done;
    finish(message);
    std::ranges::fill(message.bytes, gone);
    return;
  }
  ++counts_.posted;
  pending_.emplace(&message, std::move(made));
}

void worker::send_am(const plan& of) {
  const remote_completion to{rank_.id_of(of.number % 2 == 0 ? id::called : id::queued)};
  post(make(of, operation::active_message, true), [&](outgoing& message) {
    const post_am_options options{.tag = of.tag(),
                                  .device = of.device,
                                  .complete_at = of.delivered ? completion_level::delivered : completion_level::local,
                                  .context = &message,
                                  .allow_done = of.allow_done,
                                  .allow_retry = of.allow_retry};
    if (of.as_list) return dev_.post_am(of.peer, to, const_buffer_list{message.pieces}, completed_, options);
    return dev_.post_am(of.peer, to, message.bytes, completed_, options);
  });
}

void worker::send(const plan& of) {
  const bool ordered = of.kind == action::ordered_send;
  const bool of_thread = ordered && thread_ % 2 == 1;
  post(make(of, operation::send, true), [&](outgoing& message) {
    const post_send_options options{.tag = ordered && !of_thread ? thread_ : of.tag(),
                                    .engine = rank_.engine_of(of),
                                    .policy = ordered ? match_policy::rank_tag : of.policy,
                                    .complete_at = of.delivered ? completion_level::delivered : completion_level::local,
                                    .device = of.device,
                                    .context = &message,
                                    .allow_done = of.allow_done,
                                    .allow_retry = of.allow_retry};
    if (of.as_list) return dev_.post_send(of.peer, const_buffer_list{message.pieces}, completed_, options);
    return dev_.post_send(of.peer, message.bytes, completed_, options);
  });
}

worker::slot& worker::use_slot(const plan& of, bool is_put) {
  slot& at = slot_of(of.peer, of.region, of.slot);
  const flag& unseen = rank_.unseen(thread_, of.peer, of.region, of.slot);
  until(&of, "its place stays in use",
        [&] { return at.puts == 0 && (!is_put || at.gets == 0) && !unseen.is_raised(); });
  if (at.undelivered && at.last->kind == action::put_signal) at.undelivered = false;  // the peer has seen it
  if (at.undelivered) flush(of, false);
  return at;
}

void worker::put(const plan& of) {
  slot& at = use_slot(of, true);
  at.last = &of;
  at.undelivered = true;
  ++at.puts;
  auto made = make(of, operation::put, true);
  made->at = &at;
  const bool signals = of.kind == action::put_signal;
  if (signals) rank_.unseen(thread_, of.peer, of.region, of.slot).raise();
  const remote_buffer to{rank_.handle(of.peer, of.region), rank_.plans().offset_of(of)};
  post(std::move(made), [&](outgoing& message) {
    post_put_options options{.tag = of.tag(),
                             .complete_at = of.delivered ? completion_level::delivered : completion_level::local,
                             .device = of.device,
                             .context = &message,
                             .allow_done = of.allow_done,
                             .allow_retry = of.allow_retry};
    if (signals) options.signal = {rank_.id_of(id::signals)};
    if (of.as_list) return dev_.post_put(of.peer, const_buffer_list{message.pieces}, to, completed_, options);
    return dev_.post_put(of.peer, message.bytes, to, completed_, options);
  });
}

// A part of the bytes that were put last, or of the zeroes that were there at first.
void worker::get(const plan& of) {
  slot& at = use_slot(of, false);
  ++at.gets;
  auto made = make(of, operation::get, false);
  made->at = &at;
  made->got = at.last;
  made->got_bytes = of.bytes;
  std::uint64_t offset = rank_.plans().offset_of(of) - of.offset;
  if (at.last != nullptr) {
    made->got_from = of.key % (std::min(at.last->bytes, rank_.plans().usual_bytes_max()) + 1);
    made->got_bytes = std::min(of.bytes, at.last->bytes - made->got_from);
    offset += at.last->offset + made->got_from;
  }
  made->bytes.assign(made->got_bytes + 8, untouched);
  const remote_buffer from{rank_.handle(of.peer, of.region), offset};
  post(std::move(made), [&](outgoing& message) {
    post_get_options options{.tag = of.tag(),
                             .device = of.device,
                             .context = &message,
                             .allow_done = of.allow_done,
                             .allow_retry = of.allow_retry};
    if (of.kind == action::get_signal) options.signal = {rank_.id_of(id::signals)};
    return dev_.post_get(of.peer, buffer_ref{message.bytes.data(), message.got_bytes}, from, completed_, options);
  });
}

void worker::own_atomic(const plan& of) {
  const bool wide = script::is_wide(of);
  word& at = words_[(std::size_t{of.peer} * 2 + of.region) * 2 + (wide ? 1 : 0)];
  until(&of, "its word stays in use", [&] { return !at.is_busy; });
  const atomic_plan change = script::own_atomic(of, at.value);
  auto made = make(of, operation::atomic, false);
  made->changed = &at;
  made->old = at.value;
  at.is_busy = true;
  at.value = combine(change, at.value);
  const remote_buffer target{rank_.handle(of.peer, of.region), rank_.plans().own_word_at(of.source, of.thread, wide)};
  const auto post_as = [&](outgoing& message, auto operand, auto* result) {
    using number = decltype(operand);
    const post_atomic_options<number> options{
        .result = result,
        .compare = static_cast<number>(change.compare),
        .complete_at = of.delivered ? completion_level::delivered : completion_level::local,
        .device = of.device,
        .context = &message,
        .allow_done = of.allow_done,
        .allow_retry = of.allow_retry};
    return dev_.post_atomic(of.peer, change.op, operand, target, completed_, options);
  };
  post(std::move(made), [&](outgoing& message) {
    if (wide) return post_as(message, change.operand, &message.result);
    // The low half, on the machines that there are.
    return post_as(message, static_cast<std::uint32_t>(change.operand),
                   reinterpret_cast<std::uint32_t*>(&message.result));
  });
}

void worker::shared_atomic(const plan& of) {
  const remote_buffer target{rank_.handle(of.peer, of.region), rank_.plans().shared_word_at(script::shared_word(of))};
  post(make(of, operation::atomic, false), [&](outgoing& message) {
    const post_atomic_options<std::uint64_t> options{
        .result = of.as_list ? &message.result : nullptr,
        .complete_at = of.delivered ? completion_level::delivered : completion_level::local,
        .device = of.device,
        .context = &message,
        .allow_done = of.allow_done,
        .allow_retry = of.allow_retry};
    return dev_.post_atomic(of.peer, atomic_op::fetch_add, script::shared_operand(of), target, completed_, options);
  });
}

void worker::flush(const plan& of, bool everybody) {
  try {
    if (everybody) {
      dev_.flush();
    } else {
      dev_.flush(of.peer);
    }
  } catch (const error& problem) {
    rank_.fail(&of, problem.what());
  }
  ++counts_.flushed;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (everybody || i / (2 * script::slots) == of.peer) slots_[i].undelivered = false;
  }
}

// A post is complete.
void worker::finish(outgoing& message) {
  const plan& of = *message.of;
  if (message.kind == operation::put) {
    --message.at->puts;
    if (of.delivered) message.at->undelivered = false;
  } else if (message.kind == operation::get) {
    --message.at->gets;
    check_got(message);
  } else if (message.changed != nullptr) {
    message.changed->is_busy = false;
    if (message.result != message.old)
      rank_.fail(&of, fmt::format("found {:#x} instead of {:#x}", message.result, message.old));
  }
}

void worker::check_got(const outgoing& message) const {
  const auto got = std::span{message.bytes}.first(message.got_bytes);
  if (message.got == nullptr) {
    rank_.require(std::ranges::all_of(got, [](std::byte b) { return b == std::byte{}; }), message.of, "got no zeroes");
  } else if (const auto wrong = first_wrong(got, message.got->key, message.got_from)) {
    rank_.fail(message.of, fmt::format("got a wrong byte {} of {} from byte {} on of what operation {} had put", *wrong,
                                       got.size(), message.got_from, message.got->number));
  }
  const auto rest = std::span{message.bytes}.subspan(message.got_bytes);
  rank_.require(std::ranges::all_of(rest, [](std::byte b) { return b == untouched; }), message.of, "got too much");
}

template <class Condition>
void worker::until(const plan* of, const char* description, Condition done) {
  const bool is_done = eventually(dev_, [&] {
    if (done()) return true;
    serve();
    return false;
  });
  if (is_done) return;
  rank_.fail(of,
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
    if (record->error() != errc::none) rank_.fail(message.of, fmt::format("failed: {}", name_of(record->error())));
    rank_.require(record->operation() == message.kind && record->peer() == message.of->peer, message.of,
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
    const plan& of = rank_.check_signal(*got);
    if (of.kind == action::put_signal) to_tell_.push_back(&of);
    rank_.arrived(of);
  }
  if (to_tell_.empty()) return;
  // Small, so it is done or retry.
  const plan& of = *to_tell_.front();
  const status answer =
      dev_.post_am(of.source, {rank_.id_of(id::seen)}, const_buffer_ref{}, completed_, {.tag = of.tag()});
  rank_.require(!answer.is_posted(), &of, "an empty message was posted");
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
