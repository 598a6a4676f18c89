// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf {
namespace {

using json = nlohmann::ordered_json;

// Five digits are more than a noisy machine gives.
double rounded(double value) { return value == 0 ? 0 : std::stod(fmt::format("{:.5g}", value)); }

json to_object(const summary& values) {
  return {{"median", rounded(values.median)}, {"q1", rounded(values.q1)},   {"q3", rounded(values.q3)},
          {"min", rounded(values.min)},       {"max", rounded(values.max)}, {"rounds", values.rounds}};
}

json peer_object(const figure& row, const std::string& name) {
  const peer_result& peer = row.peers.at(name);
  json out = to_object(peer);
  if (row.threads > 1 && peer.slowest_to_median) out["least_share"] = rounded(*peer.slowest_to_median);
  return out;
}

// `  paired 1.31 (aim 1.2)  1.9 messages (aim 2)`
std::string text_of(const goal& aims) {
  const auto aim = [](double wanted) { return wanted > 0 ? fmt::format(" (aim {:.3g})", wanted) : std::string{}; };
  std::string out;
  if (aims.paired.rounds != 0) out += fmt::format("  paired {:.2f}{}", aims.paired.median, aim(aims.ratio));
  if (aims.taken.rounds != 0)
    out += fmt::format("  {:.2f} times {}{}", aims.taken.median, aims.beside, aim(aims.times));
  if (aims.in_messages > 0) out += fmt::format("  {:.2f} messages{}", aims.in_messages, aim(aims.messages));
  return out;
}

json or_null(const std::optional<double>& value) { return value ? json(rounded(*value)) : json(nullptr); }

}  // namespace

std::string figure::best_peer() const {
  std::string best;
  for (const auto& [name, values] : peers) {
    if (name.starts_with(weft_by) || std::find(no_peers.begin(), no_peers.end(), name) != no_peers.end()) continue;
    if (best.empty() ||
        (more_is_better ? values.median > peers.at(best).median : values.median < peers.at(best).median))
      best = name;
  }
  return best;
}

std::vector<std::string> figure::uneven_peers() const {
  std::vector<std::string> out;
  for (const auto& [name, values] : peers) {
    if (values.slowest_to_median.value_or(1) < even_from) out.push_back(name);
  }
  return out;
}

std::optional<double> figure::ratio() const {
  const std::string best = best_peer();
  if (best.empty() || weft.median <= 0 || peers.at(best).median <= 0) return std::nullopt;
  return more_is_better ? weft.median / peers.at(best).median : peers.at(best).median / weft.median;
}

bool figure::meets_aim() const {
  const bool is_ahead = aim.paired.rounds == 0 || aim.paired.median >= aim.ratio;
  const bool is_beside = aim.times == 0 || aim.taken.rounds == 0 || aim.taken.median <= aim.times;
  return is_ahead && is_beside && (aim.messages == 0 || aim.in_messages <= aim.messages);
}

std::optional<double> figure::fraction() const {
  if (!limit.best || *limit.best <= 0 || weft.median <= 0) return std::nullopt;
  return more_is_better ? weft.median / *limit.best : *limit.best / weft.median;
}

void figure::bound_by(const std::string& name, const summary& rounds) {
  const double best = more_is_better ? rounds.max : rounds.min;
  if (best <= 0) return;
  limit.best = best;
  limit.spread = more_is_better ? best - rounds.q3 : rounds.q1 - best;
  limit.name = name;
}

bool figure::is_limit_wrong() const noexcept {
  if (!limit.best || weft.median <= 0) return false;
  return more_is_better ? weft.median > *limit.best + limit.spread : weft.median < *limit.best - limit.spread;
}

std::string figure::wrong_limit() const {
  return fmt::format("{}{}{} of {}, {}: the limit '{}' is wrong: {}, but {} was measured", claim,
                     detail.empty() ? "" : " ", detail, readable_size(bytes), conditions.label, limit.name,
                     readable(limit.best.value_or(0), unit), readable(weft.median, unit));
}

std::string to_json(const figure& row) {
  const std::string best = row.best_peer();
  json out{{"claim", row.claim}};
  if (!row.detail.empty()) out["what"] = row.detail;
  out["unit"] = row.unit;
  out["bytes"] = row.bytes;
  out["threads"] = row.threads;
  out["window"] = row.window;
  if (!row.mode.empty()) out["mode"] = row.mode;
  if (!row.conditions.provider.empty()) out["provider"] = row.conditions.provider;
  for (const auto& [name, value] : row.settings) out[name] = value;
  out["label"] = row.conditions.label;
  out["weft"] = to_object(row.weft);
  out["least_share"] = rounded(row.weft.slowest_to_median);
  out["counts"] = row.counts();
  if (row.weft.is_verified) out["verified"] = true;
  out["peer"] = best.empty() ? json(nullptr) : peer_object(row, best);
  out["best_peer"] = best.empty() ? json(nullptr) : json(best);
  out["ratio"] = or_null(row.ratio());
  if (row.aim.paired.rounds != 0) out["paired_ratio"] = to_object(row.aim.paired);
  if (row.aim.in_messages > 0) out["messages"] = rounded(row.aim.in_messages);
  if (row.aim.taken.rounds != 0) {
    out["beside"] = row.aim.beside;
    out["times"] = to_object(row.aim.taken);
  }
  if (row.aim.times > 0) out["times_aim"] = row.aim.times;
  if (row.aim.ratio > 0) out["aim"] = row.aim.ratio;
  if (row.aim.messages > 0) out["messages_aim"] = row.aim.messages;
  if (row.aim.ratio > 0 || row.aim.messages > 0 || row.aim.times > 0) out["meets_aim"] = row.meets_aim();
  out["peers"] = json::object();
  for (const auto& [name, values] : row.peers) out["peers"][name] = peer_object(row, name);
  if (const auto uneven = row.uneven_peers(); !uneven.empty()) out["uneven_peers"] = uneven;
  if (!row.absent.empty()) out["absent"] = row.absent;
  if (row.conditions.handover.median > 0) out["handover_ns"] = rounded(row.conditions.handover.median);
  out["path"] = row.weft.paths.are_known() ? json(name_of(row.weft.paths.main())) : json(nullptr);
  out["paths"] = json::object();
  for (std::size_t i = 0; i < path_count; ++i) {
    const auto each = static_cast<path>(i);
    if (row.weft.paths.fraction(each) >= 0.001) out["paths"][name_of(each)] = rounded(row.weft.paths.fraction(each));
  }
  out["limit"] = or_null(row.limit.best);
  out["limit_name"] = row.limit.name.empty() ? json(nullptr) : json(row.limit.name);
  out["limit_spread"] = row.limit.best ? json(rounded(row.limit.spread)) : json(nullptr);
  out["limit_is_wrong"] = row.is_limit_wrong();
  out["fraction"] = or_null(row.fraction());
  out["commit"] = build_commit();
  out["flags"] = build_flags();
  out["host"] = host();
  out["pinning"] = row.conditions.pinning;
  return out.dump();
}

std::string readable(double value, const std::string& unit) {
  if (unit == "ns") {
    if (value >= 1e6) return fmt::format("{:.3g} ms", value / 1e6);
    return value >= 1e3 ? fmt::format("{:.3g} us", value / 1e3) : fmt::format("{:.3g} ns", value);
  }
  if (unit == "B/s") return fmt::format("{:.3g} GB/s", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.3g} M {}", value / 1e6, unit);
  return value >= 1e3 ? fmt::format("{:.3g} k {}", value / 1e3, unit) : fmt::format("{:.3g} {}", value, unit);
}

std::string readable_size(std::uint64_t bytes) {
  if (bytes >= kib * kib && bytes % (kib * kib) == 0) return fmt::format("{} MiB", bytes / (kib * kib));
  return bytes >= kib && bytes % kib == 0 ? fmt::format("{} KiB", bytes / kib) : fmt::format("{} B", bytes);
}

std::string table_heading(bool with_peers) {
  std::string out = fmt::format("{:<31} {:>8} {:>7} {:>6} {:<7} {:>14} {:>32} {:>6}", "claim", "size", "threads",
                                "window", "label", "median", "quartiles", "limit");
  if (with_peers) out += fmt::format(" {:>14} {:>6}  {}", "best peer", "ratio", "which");
  return out;
}

std::string table_row(const figure& row, bool with_peers) {
  const std::string name = row.detail.empty() ? row.claim : fmt::format("{} {}", row.claim, row.detail);
  const std::string spread = fmt::format("{} .. {}", readable(row.weft.q1, row.unit), readable(row.weft.q3, row.unit));
  const auto fraction = row.fraction();
  std::string out = fmt::format("{:<31} {:>8} {:>7} {:>6} {:<7} {:>14} {:>32} {:>6}", name,
                                row.bytes == 0 ? "" : readable_size(row.bytes), row.threads, row.window,
                                row.conditions.label, readable(row.weft.median, row.unit), spread,
                                fraction ? fmt::format("{:.0f} %", *fraction * 100) : "");
  if (with_peers) {
    const std::string best = row.best_peer();
    const auto ahead = row.ratio();
    out += fmt::format(" {:>14} {:>6}  {}", best.empty() ? "-" : readable(row.peers.at(best).median, row.unit),
                       ahead ? fmt::format("{:.2f}", *ahead) : "-", best.empty() ? "no peer here" : best);
    if (const auto uneven = row.uneven_peers(); !uneven.empty())
      out += fmt::format("  (uneven threads: {})", fmt::join(uneven, "; "));
  }
  if (row.claim == "limit" && row.limit.best) out += fmt::format("  best {}", readable(*row.limit.best, row.unit));
  // Of what is bounded by what two cores can say to each other, the ratio says how much is Weft's own.
  else if (row.limit.best && *row.limit.best > 0 && !row.more_is_better)
    out += fmt::format("  {:.2f} times {}", row.weft.median / *row.limit.best, row.limit.name);
  if (row.is_limit_wrong()) out += fmt::format("  wrong limit: {}", row.limit.name);
  if (row.weft.paths.are_known()) out += fmt::format("  by {}", row.weft.paths.text());
  // A median hides that a program may fare in two ways.
  if (row.claim.starts_with("plain_"))
    out += fmt::format("  worst {}", readable(row.more_is_better ? row.weft.min : row.weft.max, row.unit));
  for (const auto& [word, value] : row.settings) out += fmt::format("  {} {}", word, value);
  out += text_of(row.aim);
  if (!row.meets_aim()) out += "  (misses its aim)";
  if (!row.counts())
    out += fmt::format("  (does not count: a thread moved {:.0f} % of the median)", row.weft.slowest_to_median * 100);
  return out;
}

void printer::name_absent(const std::vector<std::string>& names) {
  if (json_ || names.empty()) return;
  fmt::print("not installed: {} (scripts/setup --peers)\n", fmt::join(names, ", "));
}

void printer::name_wrong_limits() const {
  for (const std::string& each : wrong_limits_) fmt::print(stderr, "weft-perf: {}\n", each);
}

void printer::print(const figure& row) {
  if (row.is_limit_wrong()) wrong_limits_.push_back(row.wrong_limit());
  if (!json_ && !std::exchange(begun_, true)) fmt::print("{}\n", table_heading(with_peers_));
  fmt::print("{}\n", json_ ? to_json(row) : table_row(row, with_peers_));
  std::fflush(stdout);
}

}  // namespace weft::perf
