// SPDX-License-Identifier: BSD-3-Clause
// The subcommand `compare`: rounds of Weft and of each peer alternate, and are compared label by label.
#include "weft-perf/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <tuple>

#include "weft-perf/commands.hpp"
#include "weft-perf/compare/peers.hpp"
#include "weft-perf/compare/suites.hpp"
#include "weft-perf/limits/handover.hpp"
#include "weft-perf/limits/limit_rounds.hpp"
#include "weft-perf/measure/bench.hpp"
#include "weft/error.hpp"

namespace weft::perf {
namespace {

// A peer that failed is named once and takes no further part; Weft itself may not fail.
class contest {
 public:
  contest(std::vector<contestant> all, std::vector<point> points) : all_{std::move(all)}, points_{std::move(points)} {
    samples_.resize(points_.size());
  }

  void round(std::uint32_t number) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      // Each round begins with another contestant: one that leaves the machine warm helps the next one.
      contestant& each = all_[(i + number) % all_.size()];
      if (each.run) take(each, number);
    }
    measure_limits();
  }

  void print(printer& out, const options& chosen, const std::vector<std::string>& absent) const {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const point& measured = points_[i];
      figure like;
      like.claim = measured.claim();
      like.detail = detail_of(measured);
      like.unit = measured.unit();
      like.mode = name_of(measured.mode);
      like.conditions.provider = measured.provider;
      like.conditions.pinning = pinning_of(chosen.bench);
      like.bytes = measured.bytes;
      like.threads = measured.threads;
      like.window = measured.window;
      if (measured.takes_all_ranks() || measured.uses_defaults) like.settings = {{"ranks", measured.group.ranks}};
      like.more_is_better = !measured.is_latency();
      like.absent = absent;
      like.aim = aim_of(measured);
      const std::vector<figure> figures = compared(samples_[i], like, chosen.bounds);
      if (figures.empty()) fmt::print(stderr, "weft-perf: {}: no round kept one state\n", measured.claim());
      for (figure each : figures) {
        limits_.set_limit(measured, each, chosen.bounds);
        if (each.aim.messages > 0) each.aim.in_messages = in_messages(each, chosen.bounds);
        out.print(each);
      }
    }
  }

 private:
  static std::string detail_of(const point& measured) {
    if (measured.blocks.block_bytes != 0) return measured.blocks.text();
    if (!measured.claim_name.empty()) return name_of(measured.operation);
    if (measured.kind == kind::put) return "origin";
    if (measured.kind == kind::put_visible) return "visible";
    return measured.mode == mode::threads_shared ? "shared" : "";
  }

  // The time of a figure in those of a message of the same label.
  [[nodiscard]] double in_messages(const figure& row, const handover_bounds& bounds) const {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (points_[i].kind != kind::ring || !samples_[i].contains("Weft")) continue;
      for (const labelled& message : by_label(samples_[i].at("Weft"), bounds)) {
        if (message.label == row.conditions.label) return row.weft.median / message.values().median;
      }
    }
    return 0;
  }

  // Those of the paths that Weft's messages have just taken.
  void measure_limits() {
    limits_.begin_round();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const auto own = samples_[i].find("Weft");
      if (own != samples_[i].end()) limits_.measure(points_[i], own->second.back().paths);
    }
  }

  void take(contestant& from, std::uint32_t round) {
    try {
      // More ranks than cores can't measure the hand-over themselves.
      const bool outside = points_.front().group.ranks > 2;
      const double before = outside ? measure_handover_here() : 0;
      const round_result results = from.run(points_);
      const double after = outside ? measure_handover_here() : 0;
      for (std::size_t i = 0; i < points_.size(); ++i) {
        if (!results[i]) continue;
        samples_[i][from.name].push_back(*results[i]);
        sample& last = samples_[i][from.name].back();
        last.round = round;
        if (outside) std::tie(last.before_ns, last.after_ns) = std::pair{before, after};
      }
    } catch (const error& problem) {
      if (from.name.starts_with("Weft")) throw;
      fmt::print(stderr, "weft-perf: {}; it takes no further part\n", problem.what());
      from.run = nullptr;
    }
  }

  std::vector<contestant> all_;
  std::vector<point> points_;
  std::vector<std::map<std::string, std::vector<sample>>> samples_;  // of each point, by name
  limit_rounds limits_;
};

}  // namespace

namespace {

// Of the rounds in which both had the label.
summary paired_ratios(const labelled& mine, const std::vector<labelled>& theirs, bool more_is_better) {
  std::vector<double> out;
  for (const labelled& group : theirs) {
    if (group.label != mine.label) continue;
    for (const sample& round : mine.rounds) {
      for (const sample& other : group.rounds) {
        if (round.round != other.round) continue;
        out.push_back(more_is_better ? round.value / other.value : other.value / round.value);
      }
    }
  }
  return summarize(std::move(out));
}

}  // namespace

bool is_wanted(const options& chosen, const std::string& claim) {
  return chosen.claims.empty() || std::find(chosen.claims.begin(), chosen.claims.end(), claim) != chosen.claims.end();
}

std::uint32_t rounds_of(const options& chosen) { return chosen.rounds != 0 ? chosen.rounds : chosen.quick ? 7 : 21; }

std::vector<figure> compared(const std::map<std::string, std::vector<sample>>& samples, const figure& like,
                             const handover_bounds& bounds) {
  std::vector<figure> out;
  const auto own = samples.find("Weft");
  if (own == samples.end()) return out;
  for (const labelled& mine : by_label(own->second, bounds)) {
    figure each = like;
    each.conditions.label = mine.label;
    each.weft = mine.values();
    each.weft.slowest_to_median = mine.slowest_to_median();
    each.conditions.handover = mine.handover();
    each.conditions.exchange_limit = mine.limit();
    each.weft.paths = mine.paths();
    for (const auto& [name, rounds] : samples) {
      if (name == "Weft") continue;
      for (const labelled& theirs : by_label(rounds, bounds)) {
        if (theirs.label != mine.label) continue;
        each.peers[name] = theirs.values();
        each.peers[name].slowest_to_median = theirs.slowest_to_median();
      }
    }
    if (const std::string best = each.best_peer(); !best.empty()) {
      each.aim.paired = paired_ratios(mine, by_label(samples.at(best), bounds), like.more_is_better);
    }
    if (const auto beside = samples.find(like.aim.beside); beside != samples.end()) {
      each.aim.taken = paired_ratios(mine, by_label(beside->second, bounds), !like.more_is_better);
    }
    out.push_back(std::move(each));
  }
  return out;
}

namespace {

// Weft's MPI is in Weft's place.
std::vector<contestant> contestants_of_mpi(const suite& wanted, const peer_list& peers, const options& chosen) {
  std::vector<contestant> all{peers.own_mpi.front(),
                              wanted.has_blocks ? peers.own_mpi.back() : weft_by_own_calls(chosen)};
  const std::vector<contestant>& others = wanted.has_blocks        ? peers.with_blocks
                                          : wanted.takes_all_ranks ? peers.of_all_ranks
                                          : wanted.uses_defaults   ? peers.with_defaults
                                                                   : peers.mpis;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<contestant> contestants_of(const suite& wanted, const peer_list& peers, const options& chosen) {
  if (wanted.of_mpi) return contestants_of_mpi(wanted, peers, chosen);
  std::vector<contestant> all{weft_itself(chosen)};
  const auto add = [&all](const std::vector<contestant>& more) { all.insert(all.end(), more.begin(), more.end()); };
  if (wanted.alone) {
    add({weft_dedicated(chosen)});
  } else if (wanted.has_blocks) {
    add({weft_packing_by_loops(chosen), weft_in_packets(chosen)});
    add(peers.with_blocks);
  } else if (wanted.takes_all_ranks) {
    if (wanted.points.front().threads > 1) add({weft_unbound(chosen)});
    add(weft_by_algorithms(chosen));
    add(peers.of_all_ranks);
  } else if (wanted.uses_defaults) {
    add({weft_unbound(chosen)});
    add(peers.with_defaults);
  } else {
    add(peers.present);
  }
  return all;
}

void run_suites(const options& chosen, const std::vector<suite>& suites, printer& out) {
  const auto count = [&](bool suite::*has) { return std::count_if(suites.begin(), suites.end(), std::mem_fn(has)); };
  const auto all = static_cast<std::ptrdiff_t>(suites.size());
  const temporary_folder folder;
  peer_list peers;
  if (count(&suite::alone) != all) add_mpi_peers(peers, chosen, folder.path());
  if (count(&suite::of_mpi) != 0) add_own_mpi(peers, chosen, folder.path());
  if (std::any_of(suites.begin(), suites.end(),
                  [](const suite& each) { return !each.alone && !each.takes_all_ranks && !each.of_mpi; })) {
    add_ucx_peer(peers);
    add_libfabric_peer(peers);
  }
  out.name_absent(peers.absent);
  for (const suite& each : suites) {
    if (each.of_mpi && peers.own_mpi.empty()) continue;
    contest between{contestants_of(each, peers, chosen), each.points};
    for (std::uint32_t round = 0; round < each.rounds; ++round) between.round(round);
    between.print(out, chosen, each.alone ? std::vector<std::string>{} : peers.absent);
  }
}

}  // namespace

void run_compare(const options& chosen) {
  printer out{chosen.json, true};
  const double seconds = chosen.seconds != 0.1 ? chosen.seconds : chosen.quick ? 0.05 : 0.1;
  run_suites(chosen, suites_of(chosen, seconds), out);
  print_resources(chosen, out, rounds_of(chosen), seconds / 2, chosen.quick);
  out.name_wrong_limits();
}

void run_collectives(const options& chosen) {
  printer out{chosen.json, true};
  const double seconds = chosen.seconds != 0.1 ? chosen.seconds : 0.01;
  run_suites(chosen, collective_suites(chosen, seconds), out);
}

}  // namespace weft::perf
