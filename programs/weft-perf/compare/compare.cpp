// The subcommand `compare`: rounds of Weft and of each peer in turns, held against each other label by label.
#include "weft-perf/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
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

// A peer that failed is told once and takes no further part; Weft itself may not fail.
class contest {
 public:
  contest(std::vector<contestant> all, std::vector<point> points) : all_{std::move(all)}, points_{std::move(points)} {
    samples_.resize(points_.size());
  }

  void round(std::uint32_t number) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      // Each round begins with another contestant: one that leaves the machine warm helps the next one.
      contestant& each = all_[(i + number) % all_.size()];
      if (each.run) take(each);
    }
    measure_limits();
  }

  void print(printer& out, const options& chosen, const std::vector<std::string>& absent) const {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const point& of = points_[i];
      figure like;
      like.claim = of.claim();
      like.detail = detail_of(of);
      like.unit = of.unit();
      like.mode = name_of(of.mode);
      like.provider = of.provider;
      like.pinning = pinning_of(chosen.bench);
      like.bytes = of.bytes;
      like.threads = of.threads;
      like.window = of.window;
      if (of.takes_all_ranks()) like.settings = {{"ranks", of.ranks}};
      like.more_is_better = !of.is_latency();
      like.absent = absent;
      const std::vector<figure> figures = compared(samples_[i], like, chosen.near_below_ns);
      if (figures.empty()) fmt::print(stderr, "weft-perf: {}: no round kept one state\n", of.claim());
      for (figure each : figures) {
        limits_.set_limit(of, each, chosen.near_below_ns);
        out.print(each);
      }
    }
  }

 private:
  static std::string detail_of(const point& of) {
    if (of.blocks.block_bytes != 0) return of.blocks.text();
    if (!of.claim_name.empty()) return name_of(of.operation);
    if (of.kind == kind::put) return "origin";
    if (of.kind == kind::put_visible) return "visible";
    return of.mode == mode::threads_shared ? "shared" : "";
  }

  // Those of the paths that Weft's messages have just taken.
  void measure_limits() {
    limits_.begin_round();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const auto own = samples_[i].find("Weft");
      if (own != samples_[i].end()) limits_.measure(points_[i], own->second.back().paths);
    }
  }

  void take(contestant& from) {
    try {
      // More ranks than cores can't measure the hand-over themselves.
      const bool outside = points_.front().takes_all_ranks() && points_.front().ranks > 2;
      const double before = outside ? measure_handover_here() : 0;
      const round_result results = from.run(points_);
      const double after = outside ? measure_handover_here() : 0;
      for (std::size_t i = 0; i < points_.size(); ++i) {
        if (!results[i]) continue;
        samples_[i][from.name].push_back(*results[i]);
        sample& last = samples_[i][from.name].back();
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

bool is_wanted(const options& chosen, const std::string& claim) {
  return chosen.claims.empty() || std::find(chosen.claims.begin(), chosen.claims.end(), claim) != chosen.claims.end();
}

std::uint32_t rounds_of(const options& chosen) { return chosen.rounds != 0 ? chosen.rounds : chosen.quick ? 7 : 21; }

std::vector<figure> compared(const std::map<std::string, std::vector<sample>>& samples, const figure& like,
                             double near_below_ns) {
  std::vector<figure> out;
  const auto own = samples.find("Weft");
  if (own == samples.end()) return out;
  for (const labelled& mine : by_label(own->second, near_below_ns)) {
    figure each = like;
    each.label = mine.label;
    each.weft = mine.values();
    each.slowest_to_median = mine.slowest_to_median();
    each.handover = mine.handover();
    each.exchange_limit = mine.limit();
    each.paths = mine.paths();
    for (const auto& [name, rounds] : samples) {
      if (name == "Weft") continue;
      for (const labelled& theirs : by_label(rounds, near_below_ns)) {
        if (theirs.label != mine.label) continue;
        each.peers[name] = theirs.values();
        each.peer_slowest_to_median[name] = theirs.slowest_to_median();
      }
    }
    out.push_back(std::move(each));
  }
  return out;
}

void run_compare(const options& chosen) {
  printer out{chosen.json, true};
  const double seconds = chosen.seconds != 0.1 ? chosen.seconds : chosen.quick ? 0.05 : 0.1;
  const std::vector<suite> suites = suites_of(chosen, seconds);
  const bool any = std::any_of(suites.begin(), suites.end(), [](const suite& each) { return !each.alone; });
  const temporary_folder folder;
  peer_list peers;
  if (any) {
    add_mpi_peers(peers, chosen, folder.path());
    add_ucx_peer(peers);
    add_libfabric_peer(peers);
    out.name_absent(peers.absent);
  }
  for (const suite& each : suites) {
    std::vector<contestant> all{weft_itself(chosen)};
    if (each.alone) {
      all.push_back(weft_dedicated(chosen));
    } else if (each.has_blocks) {
      all.insert(all.end(), {weft_packing_by_loops(chosen), weft_in_packets(chosen)});
      all.insert(all.end(), peers.with_blocks.begin(), peers.with_blocks.end());
    } else if (each.takes_all_ranks) {
      all.insert(all.end(), peers.of_all_ranks.begin(), peers.of_all_ranks.end());
    } else if (each.uses_defaults) {
      all.push_back(weft_unbound(chosen));
      all.insert(all.end(), peers.with_defaults.begin(), peers.with_defaults.end());
    } else {
      all.insert(all.end(), peers.present.begin(), peers.present.end());
    }
    contest between{std::move(all), each.points};
    for (std::uint32_t round = 0; round < each.rounds; ++round) between.round(round);
    between.print(out, chosen, each.alone ? std::vector<std::string>{} : peers.absent);
  }
  print_resources(chosen, out, rounds_of(chosen), seconds / 2, chosen.quick);
  out.name_wrong_limits();
}

}  // namespace weft::perf
