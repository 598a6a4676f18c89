// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "base/log.hpp"

namespace weft::fibers {
namespace {

constexpr int looks_per_patience = 8;  // looks in the time after which the report is written
constexpr std::size_t kinds_max = 16;  // kinds of waits that have a line of their own

double in_seconds(std::chrono::milliseconds time) noexcept { return std::chrono::duration<double>(time).count(); }

// Fibers with equal waits, but for the tag.
struct alike {
  std::uint64_t count = 0;
  std::uint64_t lowest_tag = ~std::uint64_t{0};
  std::uint64_t highest_tag = 0;
};

std::string words_of(const char* call, std::uint32_t peer, const alike& those) {
  std::string out = fmt::format("{} in {}", those.count, call);
  if (peer == base::wait_note::nobody) return out;
  out += fmt::format(" with rank {}", peer);
  if (those.highest_tag == 0) return out;
  return out + (those.lowest_tag == those.highest_tag
                    ? fmt::format(", tag {}", those.lowest_tag)
                    : fmt::format(", tags from {} to {}", those.lowest_tag, those.highest_tag));
}

}  // namespace

bool is_asleep(pid_t thread) noexcept {
  try {
    std::ifstream file{fmt::format("/proc/self/task/{}/stat", thread)};
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
    return text[name_end + 2] == 'S' || text[name_end + 2] == 'D';
  } catch (...) {  // no memory for a look
    return false;
  }
}

look look_at(worker& seen) noexcept {
  const activity& done = seen.done();
  return {.moves = done.moves(), .polls = done.polls(), .is_asleep = seen.sleep().is_asleep(), .thread = done.thread()};
}

watch::watch(std::span<const std::unique_ptr<worker>> workers, std::chrono::milliseconds patience)
    : workers_{workers},
      patience_{patience},
      sights_(workers.size(), sight{{}, clock::now(), clock::now()}),
      thread_{[this] { run(); }} {}

watch::~watch() {
  {
    const std::scoped_lock lock{mutex_};
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void watch::run() {
  const auto step = std::max<std::chrono::milliseconds>(patience_ / looks_per_patience, std::chrono::milliseconds{1});
  std::unique_lock lock{mutex_};
  while (!changed_.wait_for(lock, step, [this] { return is_over_; })) {
    try {
      look(clock::now());
    } catch (...) {  // no memory to tell of it: another time
    }
  }
}

void watch::look(clock::time_point now) {
  bool do_all_wait = true;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    sight& seen = sights_[i];
    const fibers::look next = look_at(*workers_[i]);
    const bool is_still = next.moves == seen.last.moves;
    const bool waits = next.is_asleep || next.polls != seen.last.polls;
    if (!is_still || !waits) seen.waits_since = now;
    if (!is_still || waits || !is_asleep(next.thread)) seen.held_since = now;
    seen.last = next;
    do_all_wait = do_all_wait && now - seen.waits_since >= patience_;
    if (now - seen.held_since >= patience_ && !std::exchange(has_told_of_hold_, true)) {
      base::log_error("worker {} of a fiber_scheduler has run one fiber for {} s, and {}", i, in_seconds(patience_),
                      words_of_hold);
    }
  }
  if (do_all_wait && count_alive(workers_) != 0 && !std::exchange(has_told_of_wait_, true)) report_wait();
}

void watch::report_wait() const {
  const told_waits all = gather_waits(workers_);
  const std::string fibers =
      all.count == 1 ? "the only fiber waits, and has not" : fmt::format("all {} fibers wait, and none has", all.count);
  base::log_error("{} moved for {} s: {}", fibers, in_seconds(patience_), all.text);
}

told_waits gather_waits(std::span<const std::unique_ptr<worker>> workers) {
  told_waits out;
  std::map<std::tuple<std::string, std::uint32_t>, alike> all;
  for (const auto& each : workers) {
    each->slots().each_wait([&](const base::wait_note& note) {
      alike& those = all[{note.call == nullptr ? "something" : note.call, note.peer}];
      ++out.count;
      if (note.peer != base::wait_note::nobody || (note.call != nullptr && std::string_view{note.call} == "recv"))
        out.has_peers = true;
      ++those.count;
      those.lowest_tag = std::min(those.lowest_tag, note.tag);
      those.highest_tag = std::max(those.highest_tag, note.tag);
    });
  }
  std::vector<std::pair<std::uint64_t, std::string>> lines;
  for (const auto& [wait, those] : all) {
    lines.emplace_back(those.count, words_of(std::get<0>(wait).c_str(), std::get<1>(wait), those));
  }
  std::ranges::sort(lines, std::greater{}, [](const auto& line) { return line.first; });
  std::string& text = out.text;
  for (std::size_t i = 0; i < std::min(lines.size(), kinds_max); ++i) text += (i == 0 ? "" : "; ") + lines[i].second;
  if (lines.size() > kinds_max) text += fmt::format("; and {} more kinds", lines.size() - kinds_max);
  return out;
}

}  // namespace weft::fibers
