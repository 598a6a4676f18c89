// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/measure/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <thread>

#include "weft-perf/limits/limit_rounds.hpp"
#include "weft-perf/report/machine.hpp"
#include "weft-perf/report/paths.hpp"

namespace weft::perf {
namespace {

using devices = std::vector<std::unique_ptr<weft::device>>;

devices make_devices(weft::runtime& rt, const point& measured) {
  const bool shared = measured.mode == mode::threads_shared;
  devices out;
  for (std::uint32_t i = 0; i < (shared ? 1 : measured.threads); ++i) {
    out.push_back(std::make_unique<weft::device>(rt, device_options{.shared = shared}));
  }
  return out;
}

std::vector<std::uint32_t> swap_indices(team& all, const devices& mine) {
  std::vector<std::uint32_t> indices;
  for (const auto& each : mine) indices.push_back(each->index());
  const std::vector<std::byte> theirs = all.swap_with_partner(std::as_bytes(std::span{indices}));
  if (theirs.size() != indices.size() * sizeof(std::uint32_t)) {
    throw error{errc::invalid_argument, "the ranks were told to measure different things"};
  }
  std::memcpy(indices.data(), theirs.data(), theirs.size());
  return indices;
}

class round_of_lanes {
 public:
  round_of_lanes(team& all, const point& measured, const bench_options& options)
      : team_{all},
        measured_{measured},
        options_{options},
        devices_{make_devices(all.runtime(), measured)},
        indices_{swap_indices(all, devices_)},
        first_id_{all.new_ids(measured.threads)},
        results_(measured.threads) {}

  /// The traffic of this rank's devices since they were made.
  [[nodiscard]] traffic moved() const {
    traffic out{device_counters{}, team_.runtime().counters().fabric_bytes};
    for (const auto& each : devices_) out += traffic{each->counters(), 0};
    return out;
  }

  std::vector<lane_result> run() {
    if (measured_.threads == 1) {
      const std::optional<pinned_here> pinned = pin_for(0);
      team_.runtime().barrier();
      run_lane(0);
    } else {
      std::barrier together{static_cast<std::ptrdiff_t>(measured_.threads) + 1};
      std::vector<std::jthread> threads;
      for (std::uint32_t i = 0; i < measured_.threads; ++i) {
        threads.emplace_back([&, i] {
          const std::optional<pinned_here> pinned = pin_for(i);
          together.arrive_and_wait();
          run_lane(i);
        });
      }
      team_.runtime().barrier();
      together.arrive_and_wait();
    }
    return results_;
  }

 private:
  std::optional<pinned_here> pin_for(std::uint32_t lane) const {
    if (options_.pin == bench_options::pinning::none || measured_.uses_defaults) return std::nullopt;
    return std::optional<pinned_here>{std::in_place, core_of(lane)};
  }
  std::uint32_t core_of(std::uint32_t lane) const {
    return core_of_partner(team_.pair() * measured_.threads + lane, team_.begins());
  }

  yield_rules yield_rules_of(std::uint32_t lane) const {
    if (measured_.uses_defaults) return {};
    if (options_.yield_after != 0) return {.looks = options_.yield_after};
    if (!is_crowded(std::uint64_t{team_.pairs()} * 2 * measured_.threads)) return {};
    // A side that only lets a partner put and get answers nothing for which the partner could wait.
    const bool serves = !team_.begins() && is_one_sided() && measured_.kind != kind::put_visible;
    const bool is_placed = options_.pin == bench_options::pinning::core;
    return is_placed && !serves && core_of(lane) % 2 != 0 ? awaiting : seeking;
  }

  bool is_one_sided() const {
    return measured_.kind == kind::put || measured_.kind == kind::put_visible || measured_.kind == kind::put_rate ||
           measured_.kind == kind::get;
  }

  void run_lane(std::uint32_t index) {
    try {
      const std::size_t which = index % devices_.size();
      // Not on the stack that posts use: by how that was laid out, active messages took 26 or 41 ns, probably as words
      // 4 KiB apart were taken for each other (docs/decisions/store-order.md).
      const auto mine = std::make_unique<lane>(*devices_[which], lane_options{.partner = team_.partner(),
                                                                              .index = index,
                                                                              .id = first_id_ + index,
                                                                              .partner_device = indices_[which],
                                                                              .begins = team_.begins(),
                                                                              .uses_defaults = measured_.uses_defaults,
                                                                              .rules = yield_rules_of(index)});
      results_[index] = is_one_sided() ? measure_put_get(*mine, measured_) : measure_messages(*mine, measured_);
      if (mine->failed() != 0) throw error{errc::transport_failed, fmt::format("{} operations failed", mine->failed())};
    } catch (const std::exception& problem) {
      // The partner waits for a message that will not arrive, and so may other threads here: the launcher ends the job.
      fmt::print(stderr, "weft-perf: {}\n", problem.what());
      std::_Exit(1);
    }
  }

  team& team_;
  const point& measured_;
  const bench_options& options_;
  devices devices_;
  std::vector<std::uint32_t> indices_;
  std::uint32_t first_id_;
  std::vector<lane_result> results_;
};

sample summed_up(const point& measured, const std::vector<double>& numbers) {
  sample out;
  std::vector<double> counts;
  double wrong = 0;
  double total = 0;
  for (std::size_t i = 0; i + 2 < numbers.size(); i += 3) {
    const double count = numbers[i];
    const double seconds = numbers[i + 1];
    wrong += numbers[i + 2];
    if (count <= 0 || seconds <= 0) continue;  // a thread that only answers
    counts.push_back(count);
    const bool is_round_trip = measured.kind == kind::latency || measured.kind == kind::put_visible;
    total += measured.is_latency() ? seconds / count * (is_round_trip ? 0.5e9 : 1e9) : count / seconds;
  }
  if (wrong > 0) throw error{errc::transport_failed, fmt::format("{} messages were not as they were sent", wrong)};
  if (measured.is_latency() && !counts.empty()) total /= static_cast<double>(counts.size());
  const bool bytes = measured.kind == kind::bandwidth || measured.kind == kind::put_rate;
  out.value = bytes ? total * static_cast<double>(measured.bytes) : total;
  out.slowest_to_median = slowest_to_median(std::move(counts));
  return out;
}

// The last one of an odd number of ranks waits for the others.
void stand_by(team& all, std::uint32_t threads) {
  (void)all.new_ids(threads);
  all.runtime().barrier();
  all.runtime().barrier();
}

traffic sum_of_traffic(const std::vector<double>& of_each_rank) {
  traffic out;
  for (std::size_t i = 0; i < of_each_rank.size(); ++i) out.values()[i % traffic::words] += of_each_rank[i];
  return out;
}

}  // namespace

bool can_tell_handover(const team& all, const point& measured) {
  return all.runtime().size() == 2 || !measured.uses_defaults;
}

sample run_round(team& all, const point& measured, const bench_options& options) {
  if (measured.takes_all_ranks()) return run_together(all, measured);
  const bool can_tell = can_tell_handover(all, measured);
  const double before = can_tell ? all.handover() : 0;
  std::vector<double> mine;
  traffic moved;
  if (!all.has_partner()) {
    stand_by(all, measured.threads);
  } else {
    round_of_lanes round{all, measured, options};
    const traffic moved_before = round.moved();
    for (const lane_result& each : round.run()) mine.insert(mine.end(), {each.count, each.seconds, each.wrong});
    all.runtime().barrier();  // the devices go when no rank sends to them any more
    moved = round.moved();
    moved -= moved_before;
  }
  const auto bound = exchange_bounding(measured);
  const double limit = bound && can_tell ? all.exchange_ns(*bound) : 0;
  const double after = can_tell ? all.handover() : 0;
  const std::vector<double> numbers = all.gather(mine);
  const std::vector<double> moved_by_all = all.gather({moved.values().begin(), moved.values().end()});
  if (all.runtime().rank() != 0) return {};
  sample out = summed_up(measured, numbers);
  out.paths = path_mix{sum_of_traffic(moved_by_all)};
  out.before_ns = before;
  out.after_ns = after;
  out.limit_ns = limit;
  return out;
}

const char* pinning_of(const bench_options& options) {
  return options.pin == bench_options::pinning::core ? "core" : "none";
}

}  // namespace weft::perf
