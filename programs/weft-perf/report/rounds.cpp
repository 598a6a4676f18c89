// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/report/rounds.hpp"

#include <algorithm>

namespace weft::perf {
namespace {

double quantile(const std::vector<double>& sorted, double part) {
  const double position = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::string state_of(double handover_ns, const handover_bounds& bounds) {
  if (handover_ns < bounds.fast_below_ns) return "fast";
  return handover_ns < bounds.slow_below_ns ? "slow" : "far";
}

double median_of(std::vector<double> values) { return summarize(std::move(values)).median; }

}  // namespace

summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values.size(),         values.front(),         quantile(values, 0.25),
          quantile(values, 0.5), quantile(values, 0.75), values.back()};
}

std::string label_of(const sample& round, const handover_bounds& bounds) {
  const double low = std::min(round.before_ns, round.after_ns);
  const double high = std::max(round.before_ns, round.after_ns);
  if (low <= 0) return "unknown";
  if (bounds.fast_below_ns >= handover_bounds::all_fast_ns) return "any";
  const std::string label = state_of(low, bounds);
  return high > 1.6 * low || label != state_of(high, bounds) ? "mixed" : label;
}

double slowest_to_median(std::vector<double> of_each) {
  const summary all = summarize(std::move(of_each));
  return all.rounds < 2 || all.median <= 0 ? 1 : all.min / all.median;
}

summary labelled::values() const {
  std::vector<double> all;
  for (const sample& each : rounds) all.push_back(each.value);
  return summarize(std::move(all));
}

summary labelled::handover() const {
  std::vector<double> all;
  for (const sample& each : rounds) all.insert(all.end(), {each.before_ns, each.after_ns});
  return summarize(std::move(all));
}

double labelled::slowest_to_median() const {
  std::vector<double> all;
  for (const sample& each : rounds) all.push_back(each.slowest_to_median);
  return median_of(std::move(all));
}

path_mix labelled::paths() const {
  path_mix out;
  for (std::size_t i = 0; i < path_count; ++i) {
    const auto which = static_cast<path>(i);
    double sum = 0;
    for (const sample& each : rounds) sum += each.paths.fraction(which);
    out.set(which, rounds.empty() ? 0 : sum / static_cast<double>(rounds.size()));
  }
  return out;
}

summary labelled::limit() const {
  std::vector<double> all;
  for (const sample& each : rounds) {
    if (each.limit_ns > 0) all.push_back(each.limit_ns);
  }
  return summarize(std::move(all));
}

std::vector<labelled> by_label(const std::vector<sample>& rounds, const handover_bounds& bounds) {
  std::vector<labelled> out;
  for (const char* label : {"fast", "slow", "far", "any", "unknown"}) {
    labelled group{label, {}};
    std::copy_if(rounds.begin(), rounds.end(), std::back_inserter(group.rounds),
                 [&](const sample& each) { return label_of(each, bounds) == label; });
    if (!group.rounds.empty()) out.push_back(std::move(group));
  }
  return out;
}

}  // namespace weft::perf
