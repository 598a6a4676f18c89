// SPDX-License-Identifier: BSD-3-Clause
// The subcommand `hooks`: how soon progress notices that a task is over, as in Figures 7 to 12 of zhou2024.
//
// A task is over at a time that is known before; noticing it is late by what progress had to do meanwhile.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "weft-perf/commands.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"
#include "weft/weft.hpp"

namespace weft::perf {
namespace {

double now_ns() { return std::chrono::duration<double, std::nano>(clock::now().time_since_epoch()).count(); }

// Of the figures that vary something else, as the paper has it.
constexpr std::uint32_t tasks_usual = 10;

/// How late it was noticed that tasks are over. Written inside the gate of one device.
class alignas(64) lateness {
 public:
  lateness() { ns_.reserve(count_max); }
  void add(double ns) {
    if (ns_.size() < count_max) ns_.push_back(ns);
  }
  [[nodiscard]] const std::vector<double>& all() const noexcept { return ns_; }

 private:
  static constexpr std::size_t count_max = 1 << 16;
  std::vector<double> ns_;
};

// Times at which tasks end, that have nothing to do with when they are looked at.
class ends {
 public:
  ends(double mean_ns, std::uint32_t seed) : mean_ns_{mean_ns}, random_{seed + 1} {}
  double after(double ns) { return ns + mean_ns_ * around_(random_); }

 private:
  double mean_ns_;
  std::minstd_rand random_;
  std::uniform_real_distribution<double> around_{0.5, 1.5};
};

using hooks = std::vector<hook>;

/// A hook for each of `count` tasks; each begins anew when it is over. One that is not takes `delay_ns` to say so.
void add_tasks(device& dev, lateness& late, std::uint32_t count, double delay_ns, hooks& out) {
  const double mean_ns = 20'000 + count * (500 + 2 * delay_ns);
  for (std::uint32_t i = 0; i < count; ++i) {
    ends times{mean_ns, i};
    const double first = times.after(now_ns());
    out.push_back(dev.add_hook([&late, delay_ns, times, end = first]() mutable {
      const double now = now_ns();
      if (now >= end) {
        late.add(now - end);
        end = times.after(now);
        return hook_answer::progress;
      }
      if (delay_ns > 0) {
        while (now_ns() < now + delay_ns) {
        }
      }
      return hook_answer::no_progress;
    }));
  }
}

/// One hook for all tasks, which end one after the other: it looks at the first alone.
void add_class(device& dev, lateness& late, std::uint32_t count, hooks& out) {
  ends times{5'000, count};
  std::deque<double> queue;
  double last = now_ns();
  for (std::uint32_t i = 0; i < count; ++i) queue.push_back(last = times.after(last));
  out.push_back(dev.add_hook([&late, times, queue = std::move(queue)]() mutable {
    const double now = now_ns();
    if (now < queue.front()) return hook_answer::no_progress;
    late.add(now - queue.front());
    queue.push_back(times.after(std::max(queue.back(), now)));
    queue.pop_front();
    return hook_answer::progress;
  }));
}

/// Synchronizers that one hook asks, each in turn, whether they are ready; another hook makes one ready now and then.
class requests {
 public:
  requests(device& dev, lateness& late, std::uint32_t count, hooks& out) {
    for (std::uint32_t i = 0; i < count; ++i) all_.emplace_back(dev.runtime());
    out.push_back(dev.add_hook([this, times = ends{20'000, count}, end = now_ns()]() mutable {
      const double now = now_ns();
      if (now < end || is_signalled_) return hook_answer::no_progress;
      end = times.after(now);
      is_signalled_ = true;
      next_ = (next_ + 7919) % all_.size();
      signalled_ns_ = now_ns();
      (void)all_[next_].signal(completion_record{});
      return hook_answer::progress;
    }));
    out.push_back(dev.add_hook([this, &late] {
      bool found = false;
      for (synchronizer& each : all_) {
        if (!each.is_ready()) continue;
        late.add(now_ns() - signalled_ns_);
        each.reset();
        is_signalled_ = false;
        found = true;
      }
      return found ? hook_answer::progress : hook_answer::no_progress;
    }));
  }

 private:
  std::deque<synchronizer> all_;
  std::size_t next_ = 0;
  bool is_signalled_ = false;
  double signalled_ns_ = 0;
};

/// Calls progress for so long; how often. Once more when the time is over: the processor may have been taken away for
/// all of it.
double poll(device& dev, double seconds) {
  constexpr int stride = 32;
  const double until = now_ns() + seconds * 1e9;
  double calls = 0;
  bool is_over = false;
  do {
    is_over = now_ns() >= until;
    for (int i = 0; i < stride; ++i) dev.progress();
    calls += stride;
  } while (!is_over);
  return calls;
}

void poll_by_threads(std::deque<device>& polled_devices, std::uint32_t threads, double seconds) {
  std::vector<std::jthread> all;
  for (std::uint32_t i = 0; i < threads; ++i) {
    all.emplace_back([&polled_devices, i, seconds] {
      const pinned_here pinned{i};
      poll(polled_devices[i % polled_devices.size()], seconds);
    });
  }
}

enum class varied : std::uint8_t { call, tasks, delay, threads, task_class, device_count, requests };

struct hook_point {
  varied parameter;
  const char* name;
  std::uint32_t tasks = tasks_usual;
  std::uint32_t threads = 1;
  double delay_ns = 0;
};

// Of many, so that a thread that was taken off its core does not count for more than others.
double median_of(const std::deque<lateness>& late, const hook_point& measured) {
  std::vector<double> all;
  for (const lateness& each : late) all.insert(all.end(), each.all().begin(), each.all().end());
  if (all.empty())
    throw error{errc::invalid_argument, fmt::format("hooks {}: no task ended: measure longer", measured.name)};
  return summarize(std::move(all)).median;
}

/// ns: of a call of progress, or how late a task's end is noticed.
double measure(runtime& rt, const hook_point& measured, double seconds) {
  const bool has_own = measured.parameter == varied::device_count;
  std::deque<device> polled_devices;
  std::deque<lateness> late;
  for (std::uint32_t i = 0; i < (has_own ? measured.threads : 1); ++i) {
    polled_devices.emplace_back(rt, device_options{.shared = measured.parameter == varied::threads});
    late.emplace_back();
  }
  std::optional<requests> asked;
  hooks added;
  device& dev = polled_devices.front();
  switch (measured.parameter) {
    case varied::call:
      for (std::uint32_t i = 0; i < measured.tasks; ++i)
        added.push_back(dev.add_hook([] { return hook_answer::no_progress; }));
      break;
    case varied::task_class: add_class(dev, late.front(), measured.tasks, added); break;
    case varied::requests: asked.emplace(dev, late.front(), measured.tasks, added); break;
    default:
      for (std::size_t i = 0; i < polled_devices.size(); ++i)
        add_tasks(polled_devices[i], late[i], measured.tasks, measured.delay_ns, added);
  }
  if (measured.parameter == varied::call) return seconds * 1e9 / poll(dev, seconds);
  if (measured.parameter == varied::threads || has_own) {
    poll_by_threads(polled_devices, measured.threads, seconds);
  } else {
    poll(dev, seconds);
  }
  return median_of(late, measured);
}

std::vector<hook_point> points_of(const options& chosen) {
  std::vector<hook_point> out;
  for (const std::uint32_t count : {0U, 1U, 8U, 32U, 256U}) out.push_back({varied::call, "call", count});
  const std::vector<std::uint32_t> counts{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  for (const std::uint32_t count : counts) out.push_back({varied::tasks, "tasks", count});
  for (const double delay : {250.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0}) {
    out.push_back({varied::delay, "delay", tasks_usual, 1, delay});
  }
  std::vector<std::uint32_t> threads = chosen.threads;
  if (threads.empty()) {
    for (std::uint32_t count = 1; count <= std::max(2U, core_count()); count *= 2) threads.push_back(count);
  }
  for (const std::uint32_t count : threads) out.push_back({varied::threads, "threads", tasks_usual, count});
  for (const std::uint32_t count : counts) out.push_back({varied::task_class, "class", count});
  for (const std::uint32_t count : threads) out.push_back({varied::device_count, "devices", tasks_usual, count});
  for (const std::uint32_t count : counts) out.push_back({varied::requests, "requests", count});
  return out;
}

figure figure_of(const hook_point& measured, std::vector<double> rounds) {
  figure out;
  out.claim = "hooks";
  out.detail = measured.name;
  out.unit = "ns";
  out.conditions.label = "unknown";  // one core sees to most of it, so nothing tells the machine's state
  out.conditions.pinning = "core";
  out.threads = measured.threads;
  out.settings = {{"tasks", measured.tasks}, {"delay_ns", static_cast<std::uint64_t>(measured.delay_ns)}};
  out.weft = summarize(std::move(rounds));
  return out;
}

}  // namespace

void run_hooks(const options& chosen) {
  runtime rt;
  printer out{chosen.json, false};
  const pinned_here pinned{0};
  for (const hook_point& each : points_of(chosen)) {
    std::vector<double> rounds;
    for (std::uint32_t i = 0; i < (chosen.rounds == 0 ? 7 : chosen.rounds); ++i) {
      rounds.push_back(measure(rt, each, chosen.seconds / 4));
    }
    out.print(figure_of(each, std::move(rounds)));
  }
}

}  // namespace weft::perf
