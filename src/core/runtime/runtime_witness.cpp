// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/runtime_witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/counted.hpp"
#include "core/protocol/arrive_send.hpp"
#include "core/runtime/describe.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/runtime/unmatched.hpp"
#include "weft/detail/report_names.hpp"

namespace weft::core {
namespace {

constexpr std::size_t line_kinds_max = 16;  // kinds of lines about one thing

std::uint64_t moves_of(const device_counters& counted) noexcept {
  return counted.progress.moved + counted.posts.active_messages.operations + counted.posts.sends.operations +
         counted.posts.receives.operations + counted.posts.puts.operations + counted.posts.gets.operations +
         counted.posts.atomics.operations;
}

std::uint64_t retries_of(const device_counters& counted) noexcept {
  std::uint64_t out = 0;
  for (const std::uint64_t each : counted.posts.retries) out += each;
  return out;
}

// What operations at this step wait for; null: the report has it elsewhere, or they wait for nothing.
const char* words_of(operation_set set, step current) noexcept {
  switch (current) {
    case step::free:
    case step::try_entries: return nullptr;
    case step::wait_for_match: return nullptr;  // unmatched.hpp
    case step::wait_for_answer:
      return "to rank {peer} {have} no answer yet: that rank has not received {them}, or does not poll";
    case step::wait_for_chunks: return "of rank {peer}, long and begun, {lack} packets of it";
    case step::wait_for_sender: return "in receiver-first engines {wait} for a send of rank {peer}";
    case step::try_signal:
      return set == operation_set::posts || set == operation_set::receives
                 ? "with rank {peer} {are} complete, but {their} completion object is full: pop its records"
                 : "of rank {peer} {are} complete, but {their} completion object is full: pop its records";
    case step::try_match: return "with rank {peer} {wait} for a lock of the matching";
    default: return "with rank {peer} {wait} in the backlog, for room on the way to it or for {their} turn";
  }
}

const char* words_of(operation_set set) noexcept {
  switch (set) {
    case operation_set::posts: return "post";
    case operation_set::arrivals: return "message";
    case operation_set::receives:
    case operation_set::late_receives: return "receive";
  }
  return "operation";
}

}  // namespace

base::witness::sight runtime_witness::look() noexcept {
  sight out;
  const bool has_looked = runtime_->devices().try_visit([&](std::uint32_t /*index*/, device_state* device) {
    if (device == nullptr) return;
    const device_counters counted = device->counts().read();
    out.moves += moves_of(counted);
    out.polls += counted.progress.calls;
  });
  if (!has_looked) {
    out = last_;
    ++out.moves;  // a device is being made or destroyed
  }
  last_ = out;
  return out;
}

// A message may have arrived a moment ago where the last poll is long past: it counts from the look that saw it first.
bool runtime_witness::is_neglected(base::clock::time_point now, base::clock::duration patience) noexcept {
  bool out = false;
  static_cast<void>(runtime_->devices().try_visit([&](std::uint32_t index, device_state* device) {
    if (index >= unpolled_.size()) return;
    unpolled_device& seen = unpolled_[index];
    const std::uint64_t calls = device == nullptr ? 0 : device->counts().read().progress.calls;
    if (device == nullptr || calls != seen.calls || seen.since == base::clock::time_point{}) {
      seen = {.calls = calls, .since = now, .unread_since = {}, .neglected = {}};
      return;
    }
    if (!device->endpoints().hold_unread()) {
      seen.unread_since = {};
      seen.neglected = {};
      return;
    }
    if (seen.unread_since == base::clock::time_point{}) seen.unread_since = now;
    const bool is_late = now - seen.unread_since >= patience;
    seen.neglected = is_late ? now - seen.since : base::clock::duration{};
    out = out || is_late;
  }));
  return out;
}

void runtime_witness::note_move() noexcept {
  retries_ = 0;
  std::ranges::fill(calls_, 0);
  static_cast<void>(runtime_->devices().try_visit([&](std::uint32_t index, device_state* device) {
    if (device == nullptr || index >= calls_.size()) return;
    const device_counters counted = device->counts().read();
    calls_[index] = counted.progress.calls;
    retries_ += retries_of(counted);
    device->head_of_line().clear();
  }));
}

void runtime_witness::describe(base::report& into) {
  const std::scoped_lock lock{layers_mutex_};
  describe_devices(into);
  describe_matching(into);
  describe_operations(into);
  describe_credits(into);
  describe_kept(into);
  describe_ends(into);
}

struct runtime_witness::devices_seen {
  std::vector<std::uint32_t> unpolled, neglected;
  bool is_polled = false;
  bool has_work = false;
  std::uint64_t retries = 0;
  std::vector<head_of_line_report::message> stopped;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> backlogs;
};

runtime_witness::devices_seen runtime_witness::look_at_devices() {
  devices_seen out;
  static_cast<void>(runtime_->devices().try_visit([&](std::uint32_t index, device_state* device) {
    if (device == nullptr) return;
    const device_counters counted = device->counts().read();
    const bool is_quiet = index < calls_.size() && counted.progress.calls == calls_[index];
    out.is_polled |= !is_quiet;
    if (index < unpolled_.size() && unpolled_[index].neglected != base::clock::duration{}) {
      out.neglected.push_back(index);
    } else if (is_quiet) {
      out.unpolled.push_back(index);
    }
    out.retries += retries_of(counted);
    if (counted.backlog.operations != 0) out.backlogs.emplace_back(index, counted.backlog.operations);
    device->head_of_line().each([&](const head_of_line_report::message& each) { out.stopped.push_back(each); });
  }));
  out.has_work = !out.backlogs.empty();
  runtime_->operations().each([&](const operation_state&) { out.has_work = true; });
  return out;
}

void runtime_witness::describe_devices(base::report& into) {
  const devices_seen seen = look_at_devices();
  for (const std::uint32_t index : seen.neglected) {
    const double time = std::chrono::duration<double>(unpolled_[index].neglected).count();
    if (const detail::report_names* const library = names()) {
      into.add(
          "messages wait for this rank, and no thread has made progress for {:.1f} s: messages move inside functions "
          "of {}: a thread has to call one that waits or tests",
          time, library->library());
    } else {
      into.add(
          "messages wait at device {}, on which no thread has made progress for {:.1f} s: a thread has to call "
          "progress() there, or a function that waits",
          index, time);
    }
  }
  for (const head_of_line_report::message& each : seen.stopped) {
    const wire kind = kind_of(each.kind);
    if (kind == wire::active_message || kind == wire::rts) {
      into.add("{} has no room: it stops a message of rank {} and all behind it; pop its records, or let it take them",
               runtime_->registrations().describe(each.id), each.source);
    } else {
      into.add(
          "a message of rank {} (kind {}, id {}) has no room, which stops all behind it: packets, operations or "
          "descriptions of unexpected messages are used up, or a completion object is full",
          each.source, each.kind, each.id);
    }
  }
  if (names() == nullptr) {
    for (const auto& [index, count] : seen.backlogs) {
      into.add("{} {} in the backlog of device {}", base::counted(count, "operation"),
               base::form_for(count, "is", "are"), index);
    }
  }
  describe_retries(into, seen);
  describe_progress(into, seen);
}

// Posts are answered retry also by a program that is right. One that ignores the answer waits for a message that was
// never sent.
void runtime_witness::describe_retries(base::report& into, const devices_seen& seen) {
  if (names() != nullptr) return;  // the library repeats its posts
  if (seen.retries > retries_) {
    into.add("posts were answered retry {} meanwhile: their targets don't poll, or have no room",
             base::counted(seen.retries - retries_, "time"));
  } else if (seen.retries != 0) {
    into.add(
        "{} {} answered retry before, and none since: such a post sends nothing; if the program has not repeated one, "
        "its message or receive is missing (device::until_accepted repeats a post)",
        base::counted(seen.retries, "post"), base::form_for(seen.retries, "was", "were"));
  }
}

void runtime_witness::describe_progress(base::report& into, const devices_seen& seen) {
  const detail::report_names* const library = names();
  if (!seen.is_polled && seen.has_work && library != nullptr) {
    into.add("no thread has called a function of {} meanwhile", library->library());
  } else if (!seen.is_polled && seen.has_work) {
    into.add("no thread has made progress meanwhile, on any device");
  }
  if (!seen.is_polled || library != nullptr) return;
  for (const std::uint32_t index : seen.unpolled)
    into.add("no thread has made progress on device {} meanwhile: what came for it waits there", index);
}

void runtime_witness::describe_matching(base::report& into) {
  unmatched all;
  // The table's functions may not throw: what there is no memory for is left out.
  static_cast<void>(runtime_->matching().table().for_each([&](const match_node& node) {
    try {
      if (node.side == match_side::receive) return all.add_receive(node.key);
      const auto& message = static_cast<const unexpected_message&>(static_cast<const ordered_message&>(node));
      all.add_message(node.key, message.arrival.source, message.arrival.header.tag);
    } catch (const std::bad_alloc&) {
    }
  }));
  matched_messages released;
  runtime_->matching().engines().try_each([&](const engine_state& engine) {
    if (engine.is_ordered()) all.add_waiting(engine, released);
  });
  // Receives that other threads have posted while this one was inside their engine.
  arrive_send::deliver_all(runtime_->devices().standard(), released);
  describe_groups(into, all.steps_of_groups());
  all.describe(into, names());
}

// A rank that has made no group waits for no collective: the layer of collectives knows nothing of it.
void runtime_witness::describe_groups(base::report& into, const std::vector<unmatched_step>& steps) {
  if (groups_ != nullptr) return groups_->describe(into, steps, names());
  std::map<std::uint32_t, std::size_t> counts;
  for (const unmatched_step& each : steps) counts[each.rank] += each.count;
  for (const auto& [rank, count] : counts)
    into.add("rank {} has called a collective, and this rank has called none", rank);
}

void runtime_witness::describe_operations(base::report& into) {
  std::map<std::tuple<operation_set, step, std::uint32_t>, std::size_t> counts;
  runtime_->operations().each([&](const operation_state& each) {
    // [hint] for people: the operation may end meanwhile.
    const step current = each.next.load(std::memory_order_relaxed);
    if (words_of(each.set(), current) == nullptr || counts.size() >= 4 * line_kinds_max) return;
    try {
      ++counts[{each.set(), current, each.peer}];
    } catch (const std::bad_alloc&) {
    }
  });
  std::size_t kinds = 0;
  for (const auto& [kind, count] : counts) {
    if (++kinds > line_kinds_max)
      return into.add("and operations of {} more", base::counted(counts.size() - line_kinds_max, "kind"));
    const auto [set, current, peer] = kind;
    const bool has_ended = peer < runtime_->size() && runtime_->peers().has_ended(peer);
    const auto either = [many = count](const char* singular, const char* several) {
      return base::form_for(many, singular, several);
    };
    using fmt::arg;
    into.add("{} {}{}", base::counted(count, words_of(set)),
             fmt::format(fmt::runtime(words_of(set, current)), arg("peer", peer), arg("have", either("has", "have")),
                         arg("them", either("it", "them")), arg("lack", either("lacks", "lack")),
                         arg("wait", either("waits", "wait")), arg("are", either("is", "are")),
                         arg("their", either("its", "their"))),
             has_ended ? "; that rank has ended" : "");
  }
}

// Posts that wait so are answered retry, or are in the backlog.
void runtime_witness::describe_credits(base::report& into) {
  for (std::uint32_t rank = 0; rank < runtime_->size(); ++rank) {
    if (!runtime_->matching().unexpected().credits().has_asked(rank)) continue;
    into.add(
        "sends to rank {} in ordered engines wait until that rank has put earlier ones in order: it does not poll, or "
        "it has not made an engine of that id, or not with .ordered = true",
        rank);
  }
}

void runtime_witness::describe_kept(base::report& into) {
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, std::size_t> counts;
  runtime_->matching().kept().try_each([&](const net::arrival& message) {
    if (counts.size() < line_kinds_max)
      ++counts[{is_for_engine(message.header.kind), message.header.id, message.source}];
  });
  for (const auto& [kind, count] : counts) {
    const auto [is_engine, id, source] = kind;
    if (is_engine && id == group_matching_engine) {
      into.add("rank {} has called a collective, and this rank has called none", source);
      continue;
    }
    into.add("{} of rank {} {} because {} has id {} here yet", base::counted(count, "message"), source,
             base::form_for(count, "waits", "wait"),
             is_engine ? "no matching engine" : "no registered completion object", id);
  }
}

void runtime_witness::describe_ends(base::report& into) {
  std::string in_order;
  std::string died;
  for (std::uint32_t rank = 0; rank < runtime_->size(); ++rank) {
    if (!runtime_->peers().has_ended(rank)) continue;
    std::string& ranks = runtime_->peers().has_died(rank) ? died : in_order;
    if (ranks.size() < 200) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  }
  if (!died.empty()) into.add("ranks that have died: {}", died);
  if (!in_order.empty()) into.add("ranks that have destroyed their runtime: {}", in_order);
}

void runtime_witness::add_counters(base::report& into) {
  static_cast<void>(runtime_->devices().try_visit([&](std::uint32_t index, device_state* device) {
    if (device != nullptr) into.add("{}", counters_text(runtime_->rank(), index, device->counts().read()));
  }));
}

}  // namespace weft::core
