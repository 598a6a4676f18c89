// SPDX-License-Identifier: BSD-3-Clause
#include "support/all_operations_receiver.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/waiting.hpp"

namespace weft::test::all_operations {
namespace {

constexpr std::byte untouched{0xee};
constexpr std::size_t ordered_posted_max = 8;

}  // namespace

receiver::receiver(rank_state& rank, device& dev, std::uint32_t thread, all_operations_summary& counts)
    : rank_{rank},
      dev_{dev},
      thread_{thread},
      counts_{counts},
      random_{rank.plans().workload().seed * 7919 + rank.rt().rank() * 64 + thread},
      completed_{rank.rt(), {.unbounded = true}},
      any_rank_{random_.one_in(2)},
      any_tag_{thread % 2 == 1},
      ordered_(rank.plans().ranks()),
      ordered_posted_(ordered_.size()),
      ordered_checked_(ordered_.size()) {
  for (std::uint32_t source = 0; source < rank.plans().ranks(); ++source) {
    for (const plan& each : rank.plans().of(source, thread)) {
      if (each.peer != rank.rt().rank()) continue;
      if (each.kind == action::ordered_send) ordered_[source].push_back(&each);
      if (each.kind == action::send) {
        (each.how == receipt::first ? first_ : each.how == receipt::probed ? probing_ : waiting_).push_back(&each);
      }
    }
    ordered_left_ += ordered_[source].size();
  }
  ordered_to_post_ = ordered_left_;
  for (std::size_t i = waiting_.size(); i > 1; --i) std::swap(waiting_[i - 1], waiting_[random_.below(i)]);
}

std::unique_ptr<receiver::incoming> receiver::make(const plan* of, std::size_t room, bool as_list) const {
  auto out = std::make_unique<incoming>();
  out->of = of;
  out->room = room;
  out->is_list = as_list;
  out->bytes.assign(room + 8, untouched);
  const std::size_t a = room / 3, b = room / 2;
  out->pieces = {buffer_ref{out->bytes.data(), a}, buffer_ref{out->bytes.data() + a, b - a},
                 buffer_ref{out->bytes.data() + b, room - b}};
  return out;
}

bool receiver::try_post(std::unique_ptr<incoming> made, std::uint32_t peer, const post_recv_options& options) {
  incoming& in = *made;
  // Complete perhaps before the post returns: it has to be known by then, but only `serve` looks.
  const auto post_it = [&] {
    if (in.is_list) return dev_.post_recv(peer, buffer_list{in.pieces}, completed_, options);
    return dev_.post_recv(peer, buffer_ref{in.bytes.data(), in.room}, completed_, options);
  };
  try {
    const status answer = post_it();
    if (answer.is_retry()) {
      rank_.require(options.allow_retry, in.of, "retry, though that was forbidden");
      ++counts_.retried;
      return false;
    }
    rank_.require(answer.is_posted(), in.of, "a receive was done");
    in.ticket = answer.ticket();
  } catch (const error& problem) {
    if (problem.code() != errc::backlog_full || options.allow_retry) rank_.fail(in.of, problem.what());
    return false;
  }
  if (in.is_ordered) {
    ordered_pending_.push_back(&in);
    ordered_owned_.push_back(std::move(made));
  } else {
    posted_.emplace(&in, std::move(made));
  }
  return true;
}

bool receiver::try_post(const plan& of) {
  const bool wild = is_wild(of);
  const std::size_t room = wild ? rank_.plans().usual_bytes_max() : of.how == receipt::cut ? of.bytes / 2 : of.bytes;
  auto made = make(wild ? nullptr : &of, room, of.key % 4 == 1);
  incoming* const in = made.get();
  return try_post(std::move(made), of.source,
                  {.tag = of.tag(),
                   .engine = rank_.engine_of(of),
                   .policy = of.policy,
                   .context = in,
                   .allow_retry = of.key % 3 != 0});
}

void receiver::post_first() {
  for (const plan* each : first_) {
    if (!eventually(dev_, [&] { return try_post(*each); })) rank_.fail(each, "its receive could not be posted");
  }
  first_.clear();
}

void receiver::serve() {
  while (auto record = completed_.pop()) take(std::move(*record));
  check_ordered();
  if (!waiting_.empty() && random_.one_in(2)) {
    const plan* const next = waiting_.back();
    if (try_post(*next)) waiting_.pop_back();
  }
  if (ordered_to_post_ != 0 && random_.one_in(2)) post_some_ordered();
  probe_some();
}

// Those of one rank by turns, or of any: then as many as come from all of them.
void receiver::post_some_ordered() {
  const auto incomplete = std::ranges::count_if(ordered_pending_, [](const incoming* in) { return !in->is_complete; });
  if (static_cast<std::size_t>(incomplete) >= ordered_posted_max) return;
  while (!any_rank_ && ordered_posted_[ordered_source_] == ordered_[ordered_source_].size()) {
    ordered_source_ = (ordered_source_ + 1) % rank_.plans().ranks();
  }
  auto made = make(nullptr, rank_.plans().usual_bytes_max(), random_.one_in(4));
  incoming* const in = made.get();
  in->is_ordered = true;
  const std::uint32_t engine = rank_.id_of(thread_ % 2 == 0 ? id::ordered : id::ordered_of_thread + thread_);
  const std::uint32_t peer = any_rank_ ? any_rank : ordered_source_;
  if (!try_post(std::move(made), peer, {.tag = thread_, .engine = engine, .any_tag = any_tag_, .context = in})) return;
  --ordered_to_post_;
  if (any_rank_) return;
  ++ordered_posted_[ordered_source_];
  ordered_source_ = (ordered_source_ + 1) % rank_.plans().ranks();
}

void receiver::probe_some() {
  for (std::size_t i = 0; i < probing_.size(); ++i) {
    const plan& of = *probing_[i];
    auto found = dev_.probe(of.source, {.tag = of.tag(), .engine = rank_.engine_of(of), .policy = of.policy});
    if (!found) continue;
    rank_.require(found->source() == of.source && found->tag() == of.tag(), &of, "a probe found something else");
    rank_.require(found->bytes() == of.bytes, &of, "a probe found another size");
    ++counts_.probed;
    found_.emplace_back(&of, std::move(*found));
    probing_[i] = probing_.back();
    probing_.pop_back();
    break;
  }
  while (!found_.empty()) {
    const plan& of = *found_.back().first;
    auto made = make(&of, of.bytes, false);
    incoming* const in = made.get();
    const status answer =
        found_.back().second.receive(buffer_ref{in->bytes.data(), in->room}, completed_, {.context = in});
    if (answer.is_retry()) break;
    posted_.emplace(in, std::move(made));
    found_.pop_back();
  }
}

void receiver::cancel() {
  const auto cancel_until_certain = [&](incoming& in) {
    cancel_result result = cancel_result::busy;
    const bool certain = eventually(dev_, [&] { return (result = dev_.cancel(in.ticket)) != cancel_result::busy; });
    rank_.require(certain, in.of, "a cancel was busy for a minute");
    in.is_cancelled = result == cancel_result::cancelled;
    ++(in.is_cancelled ? counts_.cancelled : counts_.cancelled_too_late);
  };
  for (auto& [key, in] : posted_) {
    // A receive that is first has to stay, a probed one has its message, and an announced one ends by its completion.
    if (in->of == nullptr || in->of->how == receipt::first || in->of->how == receipt::probed || in->is_cancelled ||
        in->of->is_receiver_first()) {
      continue;
    }
    cancel_until_certain(*in);
    break;
  }
  incoming* in = nullptr;
  const std::uint64_t tag = std::uint64_t{script::nobody} << 48 | std::uint64_t{thread_} << 32;
  const bool posted = eventually(dev_, [&] {
    auto made = make(nullptr, 8, false);
    in = made.get();
    return try_post(std::move(made), 0, {.tag = tag, .engine = rank_.id_of(id::unordered), .context = in});
  });
  rank_.require(posted, nullptr, "a receive could not be posted for a minute");
  cancel_until_certain(*in);
  rank_.require(in->is_cancelled, nullptr, "a receive that nothing is sent to had something");
}

void receiver::take(completion_record record) {
  auto* const in = static_cast<incoming*>(record.context());
  rank_.require(record.operation() == operation::receive && in != nullptr, nullptr, "not the completion of a receive");
  if (in->is_ordered) {
    rank_.require(record.error() == errc::none && !in->is_complete, in->of, "an ordered receive failed");
    in->is_complete = true;
    in->source = record.source();
    in->tag = record.tag();
    in->message_bytes = record.message_bytes();
    return;
  }
  const auto node = posted_.extract(in);
  rank_.require(!node.empty(), nullptr, "a receive was completed that is not posted");
  if (in->is_cancelled) {
    rank_.require(record.error() == errc::cancelled, in->of, "was cancelled, and completed");
    if (in->of != nullptr) waiting_.push_back(in->of);
    return;
  }
  const plan& of = in->of != nullptr ? *in->of : rank_.expect(record.source(), record.tag());
  check(*in, of, record);
  rank_.arrived(of);
}

void receiver::check(const incoming& done, const plan& of, const completion_record& record) const {
  rank_.require(record.source() == of.source && record.tag() == of.tag(), &of, "met another receive");
  rank_.require(record.message_bytes() == of.bytes, &of, "is told to have another size");
  std::size_t written = of.bytes;
  if (of.how == receipt::cut) {
    rank_.require(record.error() == errc::truncated, &of, "is no error, though it did not fit");
    written = 0;
    ++counts_.truncated;
  } else {
    if (record.error() != errc::none) rank_.fail(&of, name_of(record.error()));
    rank_.require(done.is_list || record.data().data() == done.bytes.data() || of.bytes == 0, &of, "is elsewhere");
    rank_.require(done.is_list || record.data().size() == of.bytes, &of, "does not have its size");
    rank_.check_content(of, std::span{done.bytes}.first(of.bytes));
  }
  const auto rest = std::span{done.bytes}.subspan(written);
  rank_.require(std::ranges::all_of(rest, [](std::byte b) { return b == untouched; }), &of, "wrote beyond its end");
}

// In the order of the posts: the messages that met them have the order of the sends.
void receiver::check_ordered() {
  while (!ordered_pending_.empty() && ordered_pending_.front()->is_complete) {
    const incoming& in = *ordered_pending_.front();
    const auto& from = ordered_[in.source];
    rank_.require(ordered_checked_[in.source] < from.size(), nullptr, "more ordered messages than were sent");
    const plan& of = *from[ordered_checked_[in.source]++];
    if (in.tag != (any_tag_ ? of.tag() : of.thread)) rank_.fail(&of, fmt::format("out of order: tag {:#x}", in.tag));
    rank_.require(in.message_bytes == of.bytes, &of, "out of order: another size");
    rank_.check_content(of, std::span{in.bytes}.first(of.bytes));
    const auto rest = std::span{in.bytes}.subspan(of.bytes);
    rank_.require(std::ranges::all_of(rest, [](std::byte b) { return b == untouched; }), &of, "wrote beyond its end");
    rank_.arrived(of);
    --ordered_left_;
    ordered_pending_.pop_front();
    ordered_owned_.pop_front();
  }
}

std::string receiver::missing() const {
  return fmt::format("{} receives to post, {} posted, {} to probe, {} found, {} ordered ({} to post)", waiting_.size(),
                     posted_.size(), probing_.size(), found_.size(), ordered_left_, ordered_to_post_);
}

}  // namespace weft::test::all_operations
