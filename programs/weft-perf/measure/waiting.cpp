// SPDX-License-Identifier: BSD-3-Clause
// The subcommand `wait`: what an idle wait costs, and how long a wake-up takes.
#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <cstdio>

#include "weft-perf/commands.hpp"
#include "weft-perf/limits/limits.hpp"
#include "weft-perf/measure/team.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf {
namespace {

double seconds_on_core() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

// Two ranks that wake each other up, or sleep both.
class sleepers {
 public:
  explicit sleepers(team& all)
      : rt_{all.runtime()},
        partner_{all.partner()},
        begins_{all.begins()},
        id_{all.new_ids(1)},
        inbox_{rt_},
        sent_{rt_},
        arrivals_{rt_.register_completion(inbox_, {.id = id_})} {}

  /// How much of a core the calling thread takes while it waits and nothing comes, 1 being all of it.
  double idle(double seconds) {
    counter never{rt_};
    const auto begin = clock::now();
    const double before = seconds_on_core();
    rt_.default_device().wait(never, 1,
                              {.timeout = std::chrono::nanoseconds{static_cast<std::int64_t>(seconds * 1e9)}});
    return (seconds_on_core() - before) / seconds_since(begin);
  }

  /// Messages to and fro between threads that sleep as soon as they may: ns one way at the rank that begins.
  double wake_ups(double seconds) {
    const pinned_here pinned{rt_.rank()};
    const auto begin = clock::now();
    std::uint64_t count = 0;
    for (bool last = false; !last; ++count) {
      if (begins_) {
        last = seconds_since(begin) >= seconds;
        tell(last ? 1 : 0);
        (void)listen();
      } else {
        last = listen() == 1;
        tell(0);
      }
    }
    return seconds_since(begin) * 0.5e9 / static_cast<double>(count);
  }

  /// The futex's limit at the rank that begins, while its partner sleeps.
  double limit(double seconds) {
    if (!begins_) return static_cast<void>(listen()), 0;
    const double out = limits::futex(seconds);
    tell(0);
    return out;
  }

 private:
  void tell(std::uint64_t tag) {
    while (rt_.default_device().post_am(partner_, {id_}, const_buffer_ref{}, sent_, {.tag = tag}).is_retry()) {
      rt_.default_device().progress();
    }
  }
  std::uint64_t listen() {
    const auto got = rt_.default_device().wait(inbox_, {.timeout = std::chrono::minutes{2}, .spins = 0});
    if (!got) throw error{errc::transport_failed, "the partner has sent nothing for two minutes"};
    return got->tag();
  }

  weft::runtime& rt_;
  std::uint32_t partner_;
  bool begins_;
  std::uint32_t id_;
  completion_queue inbox_;
  counter sent_;
  registration arrivals_;
};

figure figure_of(const char* claim, const char* unit, const char* pinning, const labelled& rounds) {
  figure out;
  out.claim = claim;
  out.unit = unit;
  out.mode = name_of(mode::processes);
  out.conditions.label = rounds.label;
  out.conditions.pinning = pinning;
  out.weft = rounds.values();
  out.conditions.handover = rounds.handover();
  return out;
}

}  // namespace

void run_wait(const options& chosen) {
  weft::runtime rt;
  if (rt.size() != 2) {
    throw error{errc::invalid_argument, "waiting is measured between two ranks, as in: weft-run -n 2 weft-perf wait"};
  }
  team all{rt};
  sleepers both{all};
  const std::uint32_t rounds = chosen.rounds == 0 ? 7 : chosen.rounds;
  std::vector<sample> idle, wake_ups;
  std::vector<double> limits;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    const double before = all.handover();
    limits.push_back(both.limit(chosen.seconds));
    rt.barrier();
    wake_ups.push_back({.value = both.wake_ups(chosen.seconds), .before_ns = before});
    wake_ups.back().after_ns = all.handover();
    rt.barrier();
    // A core that sleeps has no state by a hand-over.
    idle.push_back({.value = both.idle(chosen.seconds * 5)});
    rt.barrier();
  }
  if (rt.rank() != 0) return;
  printer out{chosen.json, false};
  for (const labelled& group : by_label(idle, chosen.bounds)) out.print(figure_of("wait_idle", "core", "none", group));
  const std::vector<labelled> groups = by_label(wake_ups, chosen.bounds);
  if (groups.empty()) {
    fmt::print(stderr, "weft-perf: wait_wakeup: the machine changed its state in each of {} rounds; try more rounds\n",
               rounds);
  }
  for (const labelled& group : groups) {
    figure each = figure_of("wait_wakeup", "ns", "core", group);
    each.bound_by("futex", summarize(limits));
    out.print(each);
  }
  out.name_wrong_limits();
}

}  // namespace weft::perf
