// SPDX-License-Identifier: BSD-3-Clause
// The subcommand `fibers`, and the costs of a switch and a signal (Table 1 of dang2016). Messages between fibers are in
// fiber_messages.cpp.
#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "weft-perf/commands.hpp"
#include "weft-perf/compare/fibers.hpp"
#include "weft-perf/compare/launch.hpp"
#include "weft-perf/compare/peers.hpp"
#include "weft-perf/limits/handover.hpp"
#include "weft-perf/limits/limits.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"
#include "weft/weft.hpp"

namespace weft::perf {
namespace {

// Looks at the clock are rarer than switches.
constexpr std::uint64_t stride = 64;

/// ns of a yield, of so many fibers of one worker that do nothing else.
double yields(fiber_scheduler& fibers, std::uint32_t count, double seconds) {
  double out = 0;
  fibers
      .spawn([&] {
        const pinned_here pinned{0};
        bool is_over = false;
        std::uint64_t sum = 0;
        std::vector<fiber> all;
        for (std::uint32_t i = 0; i + 1 < count; ++i) {
          all.push_back(fibers.spawn([&] {
            std::uint64_t mine = 0;
            while (!is_over) {
              this_fiber::yield();
              ++mine;
            }
            sum += mine;
          }));
        }
        // The first rounds start the others.
        for (int i = 0; i < 3; ++i) this_fiber::yield();
        sum = 0;
        const auto warm = clock::now();
        std::uint64_t mine = 0;
        const std::uint64_t looks = std::max<std::uint64_t>(stride / count, 1);
        while (ns_since(warm) < seconds * 1e9) {
          for (std::uint64_t i = 0; i < looks; ++i) this_fiber::yield();
          mine += looks;
        }
        out = ns_since(warm);
        is_over = true;
        for (fiber& each : all) each.join();
        out /= static_cast<double>(mine) * count;  // all take as many turns
      })
      .join();
  return out;
}

/// ns of a yield between two threads of the system on one core.
double yields_of_threads(double seconds) {
  std::atomic<bool> is_over{false};
  std::jthread other{[&] {
    const pinned_here pinned{0};
    // relaxed: nothing but the wish to stop.
    while (!is_over.load(std::memory_order_relaxed)) sched_yield();
  }};
  double out = 0;
  {
    const pinned_here pinned{0};
    const auto begin = clock::now();
    std::uint64_t mine = 0;
    for (; ns_since(begin) < seconds * 1e9; mine += stride) {
      for (std::uint64_t i = 0; i < stride; ++i) sched_yield();
    }
    out = ns_since(begin) / static_cast<double>(mine) / 2;
  }
  // relaxed: nothing but the wish to stop.
  is_over.store(true, std::memory_order_relaxed);
  return out;
}

/// ns of a signal to a waiting fiber of the caller's worker, without its switch.
double signals(fiber_scheduler& fibers, double seconds) {
  double spent = 0;
  std::uint64_t count = 0;
  fibers
      .spawn([&] {
        const pinned_here pinned{0};
        bool is_over = false;
        std::vector<fiber> all;
        std::vector<fiber_ref> refs;
        for (std::uint64_t i = 0; i < stride; ++i) {
          all.push_back(fibers.spawn([&] {
            while (!is_over) this_fiber::wait();
          }));
          refs.push_back(all.back().ref());
        }
        this_fiber::yield();
        for (const auto begin = clock::now(); ns_since(begin) < seconds * 1e9; count += stride) {
          const auto before = clock::now();
          for (const fiber_ref& each : refs) each.signal();
          spent += ns_since(before);
          this_fiber::yield();
        }
        is_over = true;
        for (const fiber_ref& each : refs) each.signal();
        for (fiber& each : all) each.join();
      })
      .join();
  return spent / static_cast<double>(count);
}

/// ns of a signal to a fiber of another worker, which runs and waits again and again meanwhile: the caller's time.
double signals_across(fiber_scheduler& fibers, double seconds) {
  double out = 0;
  std::atomic<bool> is_over{false};
  fiber waits = fibers.spawn(
      [&] {
        const pinned_here pinned{1};
        // relaxed: the last signal follows the store and carries it.
        while (!is_over.load(std::memory_order_relaxed)) this_fiber::wait();
      },
      {.worker = 1});
  fibers
      .spawn(
          [&, to = waits.ref()] {
            const pinned_here pinned{0};
            std::uint64_t count = 0;
            const auto begin = clock::now();
            for (; ns_since(begin) < seconds * 1e9; count += stride) {
              for (std::uint64_t i = 0; i < stride; ++i) to.signal();
            }
            out = ns_since(begin) / static_cast<double>(count);
            // relaxed: the signal carries it.
            is_over.store(true, std::memory_order_relaxed);
            to.signal();
          },
          {.worker = 0})
      .join();
  waits.join();
  return out;
}

/// ns one way between two fibers of two workers that signal each other to and fro.
double signals_to_and_fro(fiber_scheduler& fibers, double seconds) {
  struct alignas(64) side {
    std::atomic<std::uint64_t> told{0};
    fiber_ref ref;
  };
  std::array<side, 2> sides;
  constexpr std::uint64_t last = ~std::uint64_t{0};
  double out = 0;
  const auto hear = [&](std::uint32_t me, std::uint64_t before) {
    std::uint64_t now = before;
    // [fibers.hear] acquire <- [fibers.tell]: all that the other side did before.
    while ((now = sides[me].told.load(std::memory_order_acquire)) == before) this_fiber::wait();
    return now;
  };
  const auto tell = [&](std::uint32_t me, std::uint64_t number) {
    // [fibers.tell] release -> [fibers.hear]: all that this side did before.
    sides[1 - me].told.store(number, std::memory_order_release);
    sides[1 - me].ref.signal();
  };
  std::atomic<bool> go{false};
  const auto body = [&](std::uint32_t me) {
    // [fibers.begin] acquire <- [fibers.go]: the other side's `ref`.
    while (!go.load(std::memory_order_acquire)) this_fiber::wait();
    const pinned_here pinned{me};
    std::uint64_t round = 0;
    const auto begin = clock::now();
    if (me == 1) {
      while ((round = hear(1, round)) != last) tell(1, round);
      return;
    }
    while (ns_since(begin) < seconds * 1e9) {
      for (std::uint64_t i = 0; i < stride; ++i) {
        tell(0, round + 1);
        round = hear(0, round);
      }
    }
    out = ns_since(begin) / static_cast<double>(round) / 2;
    tell(0, last);
  };
  fiber first = fibers.spawn([&] { body(0); }, {.worker = 0});
  fiber second = fibers.spawn([&] { body(1); }, {.worker = 1});
  sides[0].ref = first.ref();
  sides[1].ref = second.ref();
  // [fibers.go] release -> [fibers.begin]: the `ref` of both sides.
  go.store(true, std::memory_order_release);
  for (const side& each : sides) each.ref.signal();
  first.join();
  second.join();
  return out;
}

template <class Measure>
std::vector<double> rounds_of(const options& chosen, Measure measure) {
  std::vector<double> out;
  for (std::uint32_t i = 0; i < fiber_rounds(chosen); ++i) out.push_back(measure());
  return out;
}

// The times of other libraries' fibers for this claim, by name.
void add_peers(figure& to, const component_peer_list& peers, const options& chosen, const char* claim,
               std::uint32_t count) {
  to.absent = peers.absent;
  for (component_peer each : peers.present) {
    each.claim = claim;
    to.peers[each.name] =
        summarize(rounds_of(chosen, [&] { return measure_component_peer(each, count, chosen.seconds / 4).value; }));
  }
}

void run_alone(const options& chosen, printer& out) {
  const double seconds = chosen.seconds / 4;
  const temporary_folder folder;
  const component_peer_list peers = find_component_peers(chosen, folder.path(), {"fibers"});
  out.name_absent(peers.absent);
  fiber_scheduler scheduler;
  for (const std::uint32_t count : {2U, 8U, 64U, 1024U, 16384U}) {
    figure each = fiber_figure("yield", count, rounds_of(chosen, [&] { return yields(scheduler, count, seconds); }));
    if (count == 2) {
      each.peers["POSIX threads"] = summarize(rounds_of(chosen, [&] { return yields_of_threads(seconds); }));
    }
    add_peers(each, peers, chosen, "yield", count);
    out.print(each);
  }
  out.print(fiber_figure("signal", stride, rounds_of(chosen, [&] { return signals(scheduler, seconds); })));
  if (core_count() < 2) return;
  fiber_scheduler two{{.workers = 2}};
  figure across =
      fiber_figure("signal to another worker", 2, rounds_of(chosen, [&] { return signals_across(two, seconds); }));
  across.bound_by("hand-over", summarize(rounds_of(chosen, [] { return measure_handover_here(); })));
  out.print(across);
  figure each =
      fiber_figure("signals to and fro", 2, rounds_of(chosen, [&] { return signals_to_and_fro(two, seconds); }));
  // Each side writes the word for which the other one waits.
  each.bound_by(name_of(exchange::two_lines),
                summarize(rounds_of(chosen, [] { return measure_here(exchange::two_lines); })));
  add_peers(each, peers, chosen, "signal", 2);
  each.peers["futex"] = summarize(rounds_of(chosen, [&] { return limits::futex(seconds); }));
  out.print(each);
}

}  // namespace

std::uint32_t fiber_rounds(const options& chosen) { return chosen.rounds == 0 ? 7 : chosen.rounds; }

figure fiber_figure(const char* detail, std::uint32_t count, std::vector<double> rounds) {
  figure out;
  out.claim = "fibers";
  out.detail = detail;
  out.unit = "ns";
  out.conditions.label = "unknown";
  out.conditions.pinning = "core";
  out.settings = {{"fibers", count}};
  out.weft = summarize(std::move(rounds));
  return out;
}

void run_fibers(const options& chosen) {
  runtime rt;
  printer out{chosen.json && rt.rank() == 0, true};
  if (rt.size() == 1)
    return chosen.fibers.counts.empty() ? run_alone(chosen, out) : compare_fiber_messages(chosen, out);
  if (rt.size() != 2) {
    throw error{errc::invalid_argument,
                "messages of fibers are between two ranks, as in: weft-run -n 2 weft-perf fibers"};
  }
  run_fiber_messages(rt, chosen, out);
}

}  // namespace weft::perf
