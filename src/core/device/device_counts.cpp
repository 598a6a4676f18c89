// SPDX-License-Identifier: BSD-3-Clause
#include "core/device/device_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/counted.hpp"

namespace weft::core {
namespace {

std::uint64_t value_of(const std::atomic<std::uint64_t>& counted) noexcept {
  return counted.load(std::memory_order_relaxed);  // [stat]
}

operation_counter& counter_of(path_counters& counters, path taken) noexcept {
  switch (taken) {
    case path::one_packet: return counters.one_packet;
    case path::many_packets: return counters.many_packets;
    case path::copied: return counters.copied;
    case path::copied_by_both: break;
  }
  return counters.copied_by_both;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void set_old_names(device_counters& out) noexcept {
  out.active_messages = out.posts.active_messages;
  out.sends = out.posts.sends;
  out.receives = out.posts.receives;
  out.puts = out.posts.puts;
  out.gets = out.posts.gets;
  out.atomics = out.posts.atomics;
  out.retries = out.posts.retries;
  out.messages_arrived = out.arrivals.messages;
  out.bytes_arrived = out.arrivals.bytes;
  out.messages_refused = out.arrivals.refusals;
  out.ambiguous_sends = out.arrivals.ambiguous_sends;
  out.progress_calls = out.progress.calls;
  out.progress_moved = out.progress.moved;
  out.progress_busy = out.progress.busy;
  out.backlog_max = out.backlog.operations_max;
}
#pragma GCC diagnostic pop

}  // namespace

void device_counts::put_off() noexcept {
  const std::uint64_t now = backlog_.fetch_add(1, std::memory_order_relaxed) + 1;  // [stat]
  std::uint64_t most = value_of(backlog_max_);
  while (most < now && !backlog_max_.compare_exchange_weak(most, now, std::memory_order_relaxed)) {  // [stat]
  }
}

device_counters device_counts::read() const noexcept {
  device_counters out;
  post_counters& posts = out.posts;
  const auto add_lane = [&](const lane& from) {
    operation_counter* const into[kind_count] = {
        &posts.active_messages, &posts.sends, &posts.receives, &posts.puts, &posts.gets, &posts.atomics};
    for (std::size_t i = 0; i < kind_count; ++i) {
      into[i]->operations += value_of(from.kinds[i].operations);
      into[i]->bytes += value_of(from.kinds[i].bytes);
    }
    path_counters* const counters[2] = {&out.message_paths, &out.transfer_paths};
    for (std::size_t i = 0; i < 2 * path_count; ++i) {
      operation_counter& counter = counter_of(*counters[i / path_count], static_cast<path>(i % path_count));
      counter.operations += value_of(from.paths[i].operations);
      counter.bytes += value_of(from.paths[i].bytes);
    }
    for (std::size_t i = 0; i < shortages; ++i) posts.retries[i] += value_of(from.retries[i]);
    out.progress.busy += value_of(from.busy);
  };
  for (const lane& each : lanes_) add_lane(each);
  add_lane(others_);
  out.progress.moved = value_of(poller_.moved);
  out.progress.calls = out.progress.moved + value_of(poller_.quiet);
  out.arrivals = {.messages = value_of(poller_.arrived),
                  .bytes = value_of(poller_.arrived_bytes),
                  .refusals = value_of(poller_.refused),
                  .ambiguous_sends = value_of(poller_.ambiguous)};
  out.backlog = {.operations = value_of(backlog_), .operations_max = value_of(backlog_max_)};
  set_old_names(out);
  return out;
}

std::string to_text(const device_counters& counted) {
  std::string out;
  const auto separate = [&] { out += out.empty() ? "" : ", "; };
  const auto add = [&](const char* singular, const char* several, const operation_counter& counter) {
    if (counter.operations == 0) return;
    separate();
    fmt::format_to(std::back_inserter(out), "{} {} ({} B)", counter.operations,
                   base::form_for(counter.operations, singular, several), counter.bytes);
  };
  add("active message", "active messages", counted.posts.active_messages);
  add("send", "sends", counted.posts.sends);
  add("receive", "receives", counted.posts.receives);
  add("put", "puts", counted.posts.puts);
  add("get", "gets", counted.posts.gets);
  add("atomic", "atomics", counted.posts.atomics);
  const auto add_paths = [&](const char* singular, const char* several, const path_counters& counters) {
    const auto add_path = [&](const char* path, const operation_counter& counter) {
      add(fmt::format("{} {}", singular, path).c_str(), fmt::format("{} {}", several, path).c_str(), counter);
    };
    add_path("in a packet", counters.one_packet);
    add_path("in several packets", counters.many_packets);
    add_path("copied by one side", counters.copied);
    add_path("copied by both sides", counters.copied_by_both);
  };
  add_paths("message", "messages", counted.message_paths);
  add_paths("put or get", "puts and gets", counted.transfer_paths);
  add("message arrived", "messages arrived", {counted.arrivals.messages, counted.arrivals.bytes});
  const auto add_number = [&](std::uint64_t number, const std::string& text) {
    if (number == 0) return;
    separate();
    out += text;
  };
  for (std::size_t i = 0; i < shortages; ++i) {
    const std::uint64_t number = counted.posts.retries[i];
    add_number(number, fmt::format("{} {} for {}", number, base::form_for(number, "retry", "retries"),
                                   name_of(static_cast<shortage>(i))));
  }
  add_number(counted.arrivals.refusals, base::counted(counted.arrivals.refusals, "time") + " no room for a message");
  add_number(counted.arrivals.ambiguous_sends,
             base::counted(counted.arrivals.ambiguous_sends, "send") + " that nothing orders");
  separate();
  fmt::format_to(std::back_inserter(out), "{} of {} calls of progress moved something", counted.progress.moved,
                 counted.progress.calls);
  add_number(counted.progress.busy, fmt::format("{} found another thread at it", counted.progress.busy));
  add_number(counted.backlog.operations, fmt::format("{} in the backlog now", counted.backlog.operations));
  add_number(counted.backlog.operations_max, fmt::format("{} at most in the backlog", counted.backlog.operations_max));
  return out;
}

}  // namespace weft::core
