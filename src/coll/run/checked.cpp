// SPDX-License-Identifier: BSD-3-Clause
#include "coll/run/checked.hpp"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <span>

#include "base/counted.hpp"
#include "base/log.hpp"
#include "coll/algorithms/table.hpp"
#include "coll/run/failed_message.hpp"
#include "coll/schedule/ranks.hpp"
#include "weft/device.hpp"
#include "weft/error.hpp"

namespace weft::coll {

namespace {

bool has_root(operation which) noexcept {
  return which == operation::broadcast || which == operation::reduce || which == operation::gather ||
         which == operation::scatter;
}

// FNV-1a, word by word.
std::uint64_t hash_of(std::span<const std::uint64_t> words) noexcept {
  std::uint64_t out = 0xcbf2'9ce4'8422'2325;
  for (const std::uint64_t each : words) out = (out ^ each) * 0x100'0000'01b3;
  return out;
}

std::string name_of_algorithm(const compared_call& call) {
  const auto all = algorithms();
  return call.algorithm < all.size() ? std::string{all[call.algorithm].name}
                                     : fmt::format("algorithm {}", call.algorithm);
}

}  // namespace

compared_call call_of(const collective_args& args, const algorithm& algorithm, const reduction& reduction) noexcept {
  compared_call out{.operation = static_cast<std::uint32_t>(args.operation),
                    .algorithm = static_cast<std::uint32_t>(&algorithm - algorithms().data()),
                    .root = has_root(args.operation) ? args.root : 0};
  const bool has_lists = args.root_has_list || !args.in_blocks.bytes.empty() || !args.out_blocks.bytes.empty();
  if (has_lists) out.form |= compared_call::has_lists;
  const bool has_bytes = has_lists || args.block_bytes != 0;
  if (args.operation == operation::alltoall && args.is_inplace && has_bytes) out.form |= compared_call::is_inplace;
  // Lists of gather, scatter and alltoall are of one member: sizes are compared where messages arrive.
  const bool is_one_list = args.operation == operation::allgather || args.operation == operation::reduce_scatter;
  if (!has_lists) out.bytes = args.block_bytes;
  if (has_lists && is_one_list) out.bytes = hash_of(args.out_blocks.bytes);
  if (is_reduction(args.operation)) {
    if (!args.is_commutative) out.form |= compared_call::is_in_order;
    out.element_bytes = args.element_bytes;
    out.function = reduction.identity;
  }
  return out;
}

compared_call refused_call(operation which) noexcept {
  return {.operation = static_cast<std::uint32_t>(which), .form = compared_call::was_refused};
}

std::string text_of(const compared_call& call) {
  const auto which = static_cast<operation>(call.operation);
  std::string out{name_of(which)};
  if ((call.form & compared_call::was_refused) != 0) return out + " with arguments that it has refused";
  out += fmt::format(" by {}", name_of_algorithm(call));
  if (has_root(which)) out += fmt::format(", root {}", call.root);
  if ((call.form & compared_call::has_lists) != 0) {
    out += ", a list of blocks";
    if (call.bytes != 0) out += fmt::format(" ({:x})", call.bytes);
  } else if (which != operation::barrier) {
    out += ", " + base::counted(call.bytes, "byte");
  }
  if (is_reduction(which)) {
    out += ", elements of " + base::counted(call.element_bytes, "byte");
    if (call.function != 0) out += fmt::format(", function {:x}", call.function);
    if ((call.form & compared_call::is_in_order) != 0) out += ", in the order of ranks";
  }
  if ((call.form & compared_call::is_inplace) != 0) out += ", in place";
  return out;
}

comparison::comparison(const group_state& group, const compared_call& mine)
    : group_{group}, rounds_{doublings(group.size())}, sent_(rounds_ + 1), received_(rounds_) {
  sent_[0] = {
      .member = group.rank(), .other_member = group.rank(), .differs = 0, .unused = 0, .call = mine, .other = {}};
}

std::uint32_t comparison::member_at(std::uint32_t distance) const noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{group_.rank()} + distance) % group_.size());
}

graph_node comparison::add_to(graph& steps) {
  graph_node before{};
  for (std::uint32_t round = 0; round < rounds_; ++round) {
    const graph_node sent = steps.add_post([this, round](completion& local) { return send(round, local); });
    const graph_node received = steps.add_post([this, round](completion& local) { return receive(round, local); });
    const graph_node merged = steps.add([this, round, received, &steps] {
      const std::optional<completion_record> end = steps.take(received);
      merge(round, end && end->error() == errc::none ? end->bytes() : 0);
    });
    if (round != 0) {
      steps.add_edge(before, sent);
      steps.add_edge(before, merged);
    }
    steps.add_edge(received, merged);
    before = merged;
  }
  const graph_node decided = steps.add([this] { decide(); });
  if (rounds_ != 0) steps.add_edge(before, decided);
  return decided;
}

void comparison::begin(std::uint64_t tag) noexcept {
  tag_ = tag;
  has_refused_ = false;
  is_told_of_failure_ = false;
}

status comparison::send(std::uint32_t round, completion& local) {
  return group_.device().post_send(group_.world_rank(member_at(1U << round)),
                                   const_buffer_ref{&sent_[round], sizeof sent_[round]}, local,
                                   {.tag = tag_ | round, .engine = group_.engine(), .allow_retry = false});
}

status comparison::receive(std::uint32_t round, completion& local) {
  return group_.device().post_recv(group_.world_rank(member_at(group_.size() - (1U << round))),
                                   buffer_ref{&received_[round], sizeof received_[round]}, local,
                                   {.tag = tag_ | round, .engine = group_.engine(), .allow_retry = false});
}

// A receive that failed changes nothing: the run ends with its error.
void comparison::merge(std::uint32_t round, std::uint64_t arrived_bytes) {
  const heard& mine = sent_[round];
  const heard& theirs = received_[round];
  heard& out = sent_[round + 1];
  out = mine;
  if (arrived_bytes != sizeof theirs || mine.differs != 0) return;
  if (theirs.differs != 0) {
    out = theirs;
  } else if (theirs.call != mine.call) {
    out.differs = 1;
    out.other_member = theirs.member;
    out.other = theirs.call;
  }
}

void comparison::decide() {
  const heard& all = sent_.back();
  if (all.differs == 0) return;
  has_refused_ = true;
  const auto named = [&](std::uint32_t member, const compared_call& call) {
    const std::string rank =
        member < group_.size() ? fmt::format(" (rank {})", group_.world_rank(member)) : std::string{};
    return fmt::format("member {}{} calls {}", member, rank, text_of(call));
  };
  const bool is_first = all.member < all.other_member;
  const std::string text = fmt::format("the members of a group call different collectives: {}; {}",
                                       is_first ? named(all.member, all.call) : named(all.other_member, all.other),
                                       is_first ? named(all.other_member, all.other) : named(all.member, all.call));
  base::log_error("{}", text);
  throw error{errc::invalid_argument, text};
}

void comparison::refuse_other_sizes(graph& steps, const std::vector<graph_node>& receives,
                                    const std::vector<const step*>& received) {
  const graph_node last = steps.add([this, &steps, receives, received] {
    for (std::size_t i = 0; i < receives.size() && !has_refused_; ++i) {
      const std::optional<completion_record> end = steps.take(receives[i]);
      const bool is_long = end && end->error() == errc::truncated;
      if (!end || (end->error() != errc::none && !is_long)) continue;
      if (is_failed_message(*end, received[i]->into.bytes)) {
        is_told_of_failure_ = true;
        continue;
      }
      const std::uint64_t arrived = is_long ? end->message_bytes() : end->bytes();
      if (arrived == received[i]->into.bytes) continue;
      const std::string text =
          fmt::format("a collective: member {} (rank {}) sends {} to member {} (rank {}), which receives {}",
                      received[i]->peer, group_.world_rank(received[i]->peer), base::counted(arrived, "byte"),
                      group_.rank(), group_.world_rank(group_.rank()), base::counted(received[i]->into.bytes, "byte"));
      base::log_error("{}", text);
      throw error{errc::invalid_argument, text};
    }
  });
  for (const graph_node each : receives) steps.add_edge(each, last);
}

namespace {

// Names the calling thread; never 0.
std::uintptr_t this_thread() noexcept {
  static thread_local const char mark = 0;  // its address is of the thread
  return reinterpret_cast<std::uintptr_t>(&mark);
}

}  // namespace

only_thread::only_thread(group_state& group, operation which) : group_{group} {
  std::uintptr_t other = 0;
  // [coll.enter] acquire <- [coll.leave]: what the last thread did with the group.
  has_entered_ = group.caller().compare_exchange_strong(other, this_thread(), std::memory_order_acquire,
                                                        std::memory_order_relaxed);
  if (has_entered_ || other == this_thread()) return;
  throw error{errc::invalid_state,
              fmt::format("{}: another thread is in a call of this group; one thread at a time starts its collectives: "
                          "give each a group (group::dup)",
                          name_of(which))};
}

only_thread::~only_thread() {
  // [coll.leave] release -> [coll.enter]
  if (has_entered_) group_.caller().store(0, std::memory_order_release);
}

}  // namespace weft::coll
