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

json to_object(const summary& of) {
  return {{"median", rounded(of.median)}, {"q1", rounded(of.q1)},   {"q3", rounded(of.q3)},
          {"min", rounded(of.min)},       {"max", rounded(of.max)}, {"rounds", of.rounds}};
}

json peer_object(const figure& of, const std::string& name) {
  const peer_result& peer = of.peers.at(name);
  json out = to_object(peer);
  if (of.threads > 1 && peer.slowest_to_median) out["least_share"] = rounded(*peer.slowest_to_median);
  return out;
}

// `  paired 1.31 (aim 1.2)  1.9 messages (aim 2)`
std::string text_of(const goal& of) {
  const auto aim = [](double wanted) { return wanted > 0 ? fmt::format(" (aim {:.3g})", wanted) : std::string{}; };
  std::string out;
  if (of.paired.rounds != 0) out += fmt::format("  paired {:.2f}{}", of.paired.median, aim(of.ratio));
  if (of.taken.rounds != 0) out += fmt::format("  {:.2f} times {}{}", of.taken.median, of.beside, aim(of.times));
  if (of.in_messages > 0) out += fmt::format("  {:.2f} messages{}", of.in_messages, aim(of.messages));
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

std::string to_json(const figure& of) {
  const std::string best = of.best_peer();
  json out{{"claim", of.claim}};
  if (!of.detail.empty()) out["what"] = of.detail;
  out["unit"] = of.unit;
  out["bytes"] = of.bytes;
  out["threads"] = of.threads;
  out["window"] = of.window;
  if (!of.mode.empty()) out["mode"] = of.mode;
  if (!of.conditions.provider.empty()) out["provider"] = of.conditions.provider;
  for (const auto& [name, value] : of.settings) out[name] = value;
  out["label"] = of.conditions.label;
  out["weft"] = to_object(of.weft);
  out["least_share"] = rounded(of.weft.slowest_to_median);
  out["counts"] = of.counts();
  if (of.weft.is_verified) out["verified"] = true;
  out["peer"] = best.empty() ? json(nullptr) : peer_object(of, best);
  out["best_peer"] = best.empty() ? json(nullptr) : json(best);
  out["ratio"] = or_null(of.ratio());
  if (of.aim.paired.rounds != 0) out["paired_ratio"] = to_object(of.aim.paired);
  if (of.aim.in_messages > 0) out["messages"] = rounded(of.aim.in_messages);
  if (of.aim.taken.rounds != 0) {
    out["beside"] = of.aim.beside;
    out["times"] = to_object(of.aim.taken);
  }
  if (of.aim.times > 0) out["times_aim"] = of.aim.times;
  if (of.aim.ratio > 0) out["aim"] = of.aim.ratio;
  if (of.aim.messages > 0) out["messages_aim"] = of.aim.messages;
  if (of.aim.ratio > 0 || of.aim.messages > 0 || of.aim.times > 0) out["meets_aim"] = of.meets_aim();
  out["peers"] = json::object();
  for (const auto& [name, values] : of.peers) out["peers"][name] = peer_object(of, name);
  if (const auto uneven = of.uneven_peers(); !uneven.empty()) out["uneven_peers"] = uneven;
  if (!of.absent.empty()) out["absent"] = of.absent;
  if (of.conditions.handover.median > 0) out["handover_ns"] = rounded(of.conditions.handover.median);
  out["path"] = of.weft.paths.are_known() ? json(name_of(of.weft.paths.main())) : json(nullptr);
  out["paths"] = json::object();
  for (std::size_t i = 0; i < path_count; ++i) {
    const auto each = static_cast<path>(i);
    if (of.weft.paths.of(each) >= 0.001) out["paths"][name_of(each)] = rounded(of.weft.paths.of(each));
  }
  out["limit"] = or_null(of.limit.best);
  out["limit_name"] = of.limit.name.empty() ? json(nullptr) : json(of.limit.name);
  out["limit_spread"] = of.limit.best ? json(rounded(of.limit.spread)) : json(nullptr);
  out["limit_is_wrong"] = of.is_limit_wrong();
  out["fraction"] = or_null(of.fraction());
  out["commit"] = build_commit();
  out["flags"] = build_flags();
  out["host"] = host();
  out["pinning"] = of.conditions.pinning;
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

std::string table_row(const figure& of, bool with_peers) {
  const std::string name = of.detail.empty() ? of.claim : fmt::format("{} {}", of.claim, of.detail);
  const std::string spread = fmt::format("{} .. {}", readable(of.weft.q1, of.unit), readable(of.weft.q3, of.unit));
  const auto fraction = of.fraction();
  std::string out =
      fmt::format("{:<31} {:>8} {:>7} {:>6} {:<7} {:>14} {:>32} {:>6}", name,
                  of.bytes == 0 ? "" : readable_size(of.bytes), of.threads, of.window, of.conditions.label,
                  readable(of.weft.median, of.unit), spread, fraction ? fmt::format("{:.0f} %", *fraction * 100) : "");
  if (with_peers) {
    const std::string best = of.best_peer();
    const auto ahead = of.ratio();
    out += fmt::format(" {:>14} {:>6}  {}", best.empty() ? "-" : readable(of.peers.at(best).median, of.unit),
                       ahead ? fmt::format("{:.2f}", *ahead) : "-", best.empty() ? "no peer here" : best);
    if (const auto uneven = of.uneven_peers(); !uneven.empty())
      out += fmt::format("  (uneven threads: {})", fmt::join(uneven, "; "));
  }
  if (of.claim == "limit" && of.limit.best) out += fmt::format("  best {}", readable(*of.limit.best, of.unit));
  // Of what is bounded by what two cores can say to each other, the ratio says how much is Weft's own.
  else if (of.limit.best && *of.limit.best > 0 && !of.more_is_better)
    out += fmt::format("  {:.2f} times {}", of.weft.median / *of.limit.best, of.limit.name);
  if (of.is_limit_wrong()) out += fmt::format("  wrong limit: {}", of.limit.name);
  if (of.weft.paths.are_known()) out += fmt::format("  by {}", of.weft.paths.text());
  // A median hides that a program may fare in two ways.
  if (of.claim.starts_with("plain_"))
    out += fmt::format("  worst {}", readable(of.more_is_better ? of.weft.min : of.weft.max, of.unit));
  for (const auto& [word, value] : of.settings) out += fmt::format("  {} {}", word, value);
  out += text_of(of.aim);
  if (!of.meets_aim()) out += "  (misses its aim)";
  if (!of.counts())
    out += fmt::format("  (does not count: a thread moved {:.0f} % of the median)", of.weft.slowest_to_median * 100);
  return out;
}

void printer::name_absent(const std::vector<std::string>& names) {
  if (json_ || names.empty()) return;
  fmt::print("not installed: {} (scripts/setup --peers)\n", fmt::join(names, ", "));
}

void printer::name_wrong_limits() const {
  for (const std::string& each : wrong_limits_) fmt::print(stderr, "weft-perf: {}\n", each);
}

void printer::print(const figure& of) {
  if (of.is_limit_wrong()) wrong_limits_.push_back(of.wrong_limit());
  if (!json_ && !std::exchange(begun_, true)) fmt::print("{}\n", table_heading(with_peers_));
  fmt::print("{}\n", json_ ? to_json(of) : table_row(of, with_peers_));
  std::fflush(stdout);
}

}  // namespace weft::perf
