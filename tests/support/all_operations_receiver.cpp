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
    for (const plan& each : rank.plans().planned(source, thread)) {
      if (each.peer != rank.rt().rank()) continue;
      if (each.kind == action::ordered_send) ordered_[source].push_back(&each);
      if (each.kind == action::send) {
        (each.receipt_kind == receipt::first    ? first_
         : each.receipt_kind == receipt::probed ? probing_
                                                : waiting_)
            .push_back(&each);
      }
    }
    ordered_left_ += ordered_[source].size();
  }
  ordered_to_post_ = ordered_left_;
  for (std::size_t i = waiting_.size(); i > 1; --i) std::swap(waiting_[i - 1], waiting_[random_.below(i)]);
}

std::unique_ptr<receiver::incoming> receiver::make(const plan* planned, std::size_t room, bool as_list) const {
  auto out = std::make_unique<incoming>();
  out->planned = planned;
  out->room = room;
  out->is_list = as_list;
  out->bytes.assign(room + 8, untouched);
  const std::size_t a = room / 3, b = room / 2;
  out->pieces = {buffer_ref{out->bytes.data(), a}, buffer_ref{out->bytes.data() + a, b - a},
                 buffer_ref{out->bytes.data() + b, room - b}};
  return out;
}

bool receiver::try_post(std::unique_ptr<incoming> made, std::uint32_t peer, const post_recv_options& options) {
  incoming& arriving = *made;
  // Complete perhaps before the post returns: it has to be known by then, but only `serve` looks.
  const auto post_it = [&] {
    if (arriving.is_list) return dev_.post_recv(peer, buffer_list{arriving.pieces}, completed_, options);
    return dev_.post_recv(peer, buffer_ref{arriving.bytes.data(), arriving.room}, completed_, options);
  };
  try {
    const status answer = post_it();
    if (answer.is_retry()) {
      rank_.require(options.allow_retry, arriving.planned, "retry, though that was forbidden");
      ++counts_.retried;
      return false;
    }
    rank_.require(answer.is_posted(), arriving.planned, "a receive was done");
    arriving.ticket = answer.ticket();
  } catch (const error& problem) {
    if (problem.code() != errc::backlog_full || options.allow_retry) rank_.fail(arriving.planned, problem.what());
    return false;
  }
  if (arriving.is_ordered) {
    ordered_pending_.push_back(&arriving);
    ordered_owned_.push_back(std::move(made));
  } else {
    posted_.emplace(&arriving, std::move(made));
  }
  return true;
}

bool receiver::try_post(const plan& planned) {
  const bool wild = is_wild(planned);
  const std::size_t room = wild                                   ? rank_.plans().usual_bytes_max()
                           : planned.receipt_kind == receipt::cut ? planned.bytes / 2
                                                                  : planned.bytes;
  auto made = make(wild ? nullptr : &planned, room, planned.key % 4 == 1);
  incoming* const arriving = made.get();
  return try_post(std::move(made), planned.source,
                  {.tag = planned.tag(),
                   .engine = rank_.engine_of(planned),
                   .policy = planned.policy,
                   .context = arriving,
                   .allow_retry = planned.key % 3 != 0});
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
  const auto incomplete =
      std::ranges::count_if(ordered_pending_, [](const incoming* arriving) { return !arriving->is_complete; });
  if (static_cast<std::size_t>(incomplete) >= ordered_posted_max) return;
  while (!any_rank_ && ordered_posted_[ordered_source_] == ordered_[ordered_source_].size()) {
    ordered_source_ = (ordered_source_ + 1) % rank_.plans().ranks();
  }
  auto made = make(nullptr, rank_.plans().usual_bytes_max(), random_.one_in(4));
  incoming* const arriving = made.get();
  arriving->is_ordered = true;
  const std::uint32_t engine = rank_.id_of(thread_ % 2 == 0 ? id::ordered : id::ordered_of_thread + thread_);
  const std::uint32_t peer = any_rank_ ? any_rank : ordered_source_;
  if (!try_post(std::move(made), peer, {.tag = thread_, .engine = engine, .any_tag = any_tag_, .context = arriving}))
    return;
  --ordered_to_post_;
  if (any_rank_) return;
  ++ordered_posted_[ordered_source_];
  ordered_source_ = (ordered_source_ + 1) % rank_.plans().ranks();
}

void receiver::probe_some() {
  for (std::size_t i = 0; i < probing_.size(); ++i) {
    const plan& planned = *probing_[i];
    auto found = dev_.probe(planned.source,
                            {.tag = planned.tag(), .engine = rank_.engine_of(planned), .policy = planned.policy});
    if (!found) continue;
    rank_.require(found->source() == planned.source && found->tag() == planned.tag(), &planned,
                  "a probe found something else");
    rank_.require(found->bytes() == planned.bytes, &planned, "a probe found another size");
    ++counts_.probed;
    found_.emplace_back(&planned, std::move(*found));
    probing_[i] = probing_.back();
    probing_.pop_back();
    break;
  }
  while (!found_.empty()) {
    const plan& planned = *found_.back().first;
    auto made = make(&planned, planned.bytes, false);
    incoming* const arriving = made.get();
    const status answer = found_.back().second.receive(buffer_ref{arriving->bytes.data(), arriving->room}, completed_,
                                                       {.context = arriving});
    if (answer.is_retry()) break;
    posted_.emplace(arriving, std::move(made));
    found_.pop_back();
  }
}

void receiver::cancel() {
  const auto cancel_until_certain = [&](incoming& arriving) {
    cancel_result result = cancel_result::busy;
    const bool certain =
        eventually(dev_, [&] { return (result = dev_.cancel(arriving.ticket)) != cancel_result::busy; });
    rank_.require(certain, arriving.planned, "a cancel was busy for a minute");
    arriving.is_cancelled = result == cancel_result::cancelled;
    ++(arriving.is_cancelled ? counts_.cancelled : counts_.cancelled_too_late);
  };
  for (auto& [key, arriving] : posted_) {
    // A receive that is first has to stay, a probed one has its message, and an announced one ends by its completion.
    if (arriving->planned == nullptr || arriving->planned->receipt_kind == receipt::first ||
        arriving->planned->receipt_kind == receipt::probed || arriving->is_cancelled ||
        arriving->planned->is_receiver_first()) {
      continue;
    }
    cancel_until_certain(*arriving);
    break;
  }
  incoming* arriving = nullptr;
  const std::uint64_t tag = std::uint64_t{script::nobody} << 48 | std::uint64_t{thread_} << 32;
  const bool posted = eventually(dev_, [&] {
    auto made = make(nullptr, 8, false);
    arriving = made.get();
    return try_post(std::move(made), 0, {.tag = tag, .engine = rank_.id_of(id::unordered), .context = arriving});
  });
  rank_.require(posted, nullptr, "a receive could not be posted for a minute");
  cancel_until_certain(*arriving);
  rank_.require(arriving->is_cancelled, nullptr, "a receive that nothing is sent to had something");
}

void receiver::take(completion_record record) {
  auto* const arriving = static_cast<incoming*>(record.context());
  rank_.require(record.operation() == operation::receive && arriving != nullptr, nullptr,
                "not the completion of a receive");
  if (arriving->is_ordered) {
    rank_.require(record.error() == errc::none && !arriving->is_complete, arriving->planned,
                  "an ordered receive failed");
    arriving->is_complete = true;
    arriving->source = record.source();
    arriving->tag = record.tag();
    arriving->message_bytes = record.message_bytes();
    return;
  }
  const auto node = posted_.extract(arriving);
  rank_.require(!node.empty(), nullptr, "a receive was completed that is not posted");
  if (arriving->is_cancelled) {
    rank_.require(record.error() == errc::cancelled, arriving->planned, "was cancelled, and completed");
    if (arriving->planned != nullptr) waiting_.push_back(arriving->planned);
    return;
  }
  const plan& planned = arriving->planned != nullptr ? *arriving->planned : rank_.expect(record.source(), record.tag());
  check(*arriving, planned, record);
  rank_.arrived(planned);
}

void receiver::check(const incoming& done, const plan& planned, const completion_record& record) const {
  rank_.require(record.source() == planned.source && record.tag() == planned.tag(), &planned, "met another receive");
  rank_.require(record.message_bytes() == planned.bytes, &planned, "is told to have another size");
  std::size_t written = planned.bytes;
  if (planned.receipt_kind == receipt::cut) {
    rank_.require(record.error() == errc::truncated, &planned, "is no error, though it did not fit");
    written = 0;
    ++counts_.truncated;
  } else {
    if (record.error() != errc::none) rank_.fail(&planned, name_of(record.error()));
    rank_.require(done.is_list || record.data().data() == done.bytes.data() || planned.bytes == 0, &planned,
                  "is elsewhere");
    rank_.require(done.is_list || record.data().size() == planned.bytes, &planned, "does not have its size");
    rank_.check_content(planned, std::span{done.bytes}.first(planned.bytes));
  }
  const auto rest = std::span{done.bytes}.subspan(written);
  rank_.require(std::ranges::all_of(rest, [](std::byte b) { return b == untouched; }), &planned,
                "wrote beyond its end");
}

// In the order of the posts: the messages that met them have the order of the sends.
void receiver::check_ordered() {
  while (!ordered_pending_.empty() && ordered_pending_.front()->is_complete) {
    const incoming& arriving = *ordered_pending_.front();
    const auto& from = ordered_[arriving.source];
    rank_.require(ordered_checked_[arriving.source] < from.size(), nullptr, "more ordered messages than were sent");
    const plan& planned = *from[ordered_checked_[arriving.source]++];
    if (arriving.tag != (any_tag_ ? planned.tag() : planned.thread))
      rank_.fail(&planned, fmt::format("out of order: tag {:#x}", arriving.tag));
    rank_.require(arriving.message_bytes == planned.bytes, &planned, "out of order: another size");
    rank_.check_content(planned, std::span{arriving.bytes}.first(planned.bytes));
    const auto rest = std::span{arriving.bytes}.subspan(planned.bytes);
    rank_.require(std::ranges::all_of(rest, [](std::byte b) { return b == untouched; }), &planned,
                  "wrote beyond its end");
    rank_.arrived(planned);
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
