// SPDX-License-Identifier: BSD-3-Clause
// Measurements in which all ranks take part together: repeated twice as often each time, until they take long enough.
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "weft-perf/measure/bench.hpp"
#include "weft-perf/measure/collective_calls.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft/collectives.hpp"
#include "weft/group.hpp"

namespace weft::perf {
namespace {

// A message that each rank passes on to the next one. Threads wait as a program without tricks does.
class ring {
 public:
  ring(team& all, const point& measured)
      : size_{all.runtime().size()},
        measured_{measured},
        lane_{std::make_unique<lane>(all.runtime().default_device(),
                                     lane_options{.partner = (all.runtime().rank() + 1) % size_,
                                                  .id = all.new_ids(1),
                                                  .source = (all.runtime().rank() + size_ - 1) % size_,
                                                  .begins = all.runtime().rank() == 0,
                                                  .uses_defaults = true})},
        bytes_(measured.bytes) {}

  void go_round() {
    if (lane_->begins) send();
    receive();
    if (!lane_->begins) send();
  }
  /// Until the last message has left its buffer: before that the ring may not end.
  void settle() { lane_->settle(); }

 private:
  void send() {
    lane_->settle();
    if (measured_.operation == operation::am) return lane_->post_am(std::span<const std::byte>{bytes_}, 0);
    lane_->post_send(std::span<const std::byte>{bytes_});
  }
  // The buffer is received into when the last message of this rank has left it.
  void receive() {
    if (measured_.operation == operation::am) return lane_->wait_arrived();
    lane_->settle();
    lane_->post_recv(std::span<std::byte>{bytes_});
    lane_->wait_received();
  }

  std::uint32_t size_;
  const point& measured_;
  std::unique_ptr<lane> lane_;
  std::vector<std::byte> bytes_;
};

// Each thread of a rank with a group of its own, on a device of its own; a single one with the group of all.
class groups_of_threads {
 public:
  groups_of_threads(team& all, const point& measured) : world_{all.runtime().world()} {
    for (std::uint32_t i = 0; i < measured.threads; ++i) {
      if (measured.threads > 1) {
        devices_.push_back(std::make_unique<weft::device>(all.runtime(), device_options{.shared = true}));
      }
      group own = measured.threads > 1 ? world_.dup({.device = devices_.back().get()}) : world_;
      calls_.push_back(std::make_unique<collective_calls>(all.runtime(), std::move(own), measured));
    }
  }

  /// Whether the algorithm can do it; all ranks find the same.
  [[nodiscard]] bool can() {
    try {
      for (const auto& each : calls_) each->once(0);
      return true;
    } catch (const error& problem) {
      if (problem.code() != errc::invalid_argument) throw;
      return false;
    }
  }

  /// Until all threads have done so many.
  double repeat(std::uint64_t count) {
    std::barrier together{static_cast<std::ptrdiff_t>(calls_.size())};
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < calls_.size(); ++i) {
      threads.emplace_back([&, i] {
        together.arrive_and_wait();
        run_or_exit(*calls_[i], count);
      });
    }
    collective::barrier().run(world_);
    together.arrive_and_wait();
    const auto begin = clock::now();
    run_or_exit(*calls_[0], count);
    threads.clear();
    return seconds_since(begin);
  }

 private:
  static void run_or_exit(collective_calls& calls, std::uint64_t count) {
    try {
      for (std::uint64_t i = 0; i < count; ++i) calls.once(i);
    } catch (const std::exception& problem) {
      // The other ranks wait for this one: the launcher ends the job.
      fmt::print(stderr, "weft-perf: {}\n", problem.what());
      std::_Exit(1);
    }
  }

  group world_;
  std::vector<std::unique_ptr<weft::device>> devices_;
  std::vector<std::unique_ptr<collective_calls>> calls_;
};

// The time of one repetition in ns. Rank 0 finds out how many take `seconds`.
template <class Repeat>
double time_each(group& all, double seconds, Repeat&& repeat) {
  for (std::uint64_t count = 1;; count *= 2) {
    collective::barrier().run(all);
    double took = repeat(count);
    collective::broadcast({&took, sizeof took}).run(all);
    if (took >= seconds) return took * 1e9 / static_cast<double>(count);
  }
}

double measure_ring(team& all, group& everybody, const point& measured) {
  ring messages{all, measured};
  const double round = time_each(everybody, measured.seconds, [&](std::uint64_t count) {
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) messages.go_round();
    messages.settle();
    return seconds_since(begin);
  });
  return round / all.runtime().size();
}

double measure_collective(team& all, group& everybody, const point& measured) {
  groups_of_threads threads{all, measured};
  double out = 0;
  if (threads.can()) {
    out = time_each(everybody, measured.seconds, [&](std::uint64_t count) { return threads.repeat(count); });
  }
  all.runtime().barrier();  // the devices go when no rank sends to them any more
  return out / measured.threads;
}

}  // namespace

sample run_together(team& all, const point& measured) {
  const bool can_tell = can_tell_handover(all, measured);
  sample out;
  if (can_tell) out.before_ns = all.handover();
  group everybody = all.runtime().world();
  out.value =
      measured.is_collective() ? measure_collective(all, everybody, measured) : measure_ring(all, everybody, measured);
  if (can_tell) out.after_ns = all.handover();
  return out;
}

}  // namespace weft::perf
