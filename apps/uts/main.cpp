// SPDX-License-Identifier: BSD-3-Clause
// weft-uts: counts an unbalanced tree on all ranks of a job.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <weft/weft.hpp>

#include "other_arguments.hpp"
#include "rank_output.hpp"
#include "uts/options.hpp"
#include "uts/search.hpp"
#include "uts/tree.hpp"

namespace {

using weft_uts::command_line;
using weft_uts::search_result;

std::string summary_of(const search_result& found, const command_line& line, std::uint32_t ranks, const char* verdict) {
  const auto& counts = found.counts;
  const double rate = found.seconds > 0 ? static_cast<double>(counts.nodes) / found.seconds : 0;
  if (line.json) {
    return fmt::format(
        R"({{"nodes": {}, "depth": {}, "leaves": {}, "seconds": {:.6f}, "nodes_per_second": {:.0f}, "ranks": {}, )"
        R"("workers": {}, "fibers": {}, "steals": {}, "steals_in_vain": {}, "known": "{}"}})"
        "\n",
        counts.nodes, counts.depth, counts.leaves, found.seconds, rate, ranks, line.search.workers, line.search.fibers,
        found.steals, found.steals_in_vain, verdict);
  }
  return fmt::format(
      "nodes           {}\ndepth           {}\nleaves          {}\nseconds         {:.3f}\nnodes a second  {:.0f}\n"
      "steals          {}, and {} that found nothing\nknown tree      {}\n",
      counts.nodes, counts.depth, counts.leaves, found.seconds, rate, found.steals, found.steals_in_vain, verdict);
}

// The arguments that all ranks have to give alike.
std::array<std::int64_t, 11> alike_of(const command_line& line) {
  const weft_uts::tree_options& tree = line.search.tree;
  const auto bits = [](double number) { return std::bit_cast<std::int64_t>(number); };
  return {static_cast<std::int64_t>(tree.type),
          static_cast<std::int64_t>(tree.shape),
          bits(tree.root_children),
          tree.seed,
          tree.depth,
          bits(tree.branching),
          tree.children,
          bits(tree.shift),
          static_cast<std::int64_t>(line.search.nodes_max),
          line.sequential ? 1 : 0,
          line.exit_code};
}

int count(weft::runtime& rt, const command_line& line) {
  if (line.sequential && rt.size() > 1) {
    weft::print_by_rank_0(rt, stderr, "weft-uts: --sequential is for one process\n");
    return 2;
  }
  search_result found;
  {
    weft::progress_line shown{line.show_progress && rt.rank() == 0 && weft::progress_line::has_terminal()};
    const auto tell = [&](std::uint64_t nodes) {
      const double millions = static_cast<double>(nodes) / 1e6;
      shown.show([&](double seconds) {
        return fmt::format("{:.1f} million nodes by rank 0 of {}, {:.2f} million a second", millions, rt.size(),
                           millions / seconds);
      });
    };
    found = line.sequential ? weft_uts::count_alone(line.search) : weft_uts::count_tree(rt, line.search, tell);
  }
  if (found.counts.nodes > line.search.nodes_max) {
    weft::print_by_rank_0(
        rt, stderr,
        fmt::format("weft-uts: the tree has more than {} nodes (--nodes-max): not counted to its end\n",
                    line.search.nodes_max));
    return 1;
  }
  const weft_uts::known_tree* const known = weft_uts::find_known(line.search.tree);
  const bool is_right = known != nullptr && known->counts == found.counts;
  const std::string verdict =
      known == nullptr ? "none" : fmt::format("{}, {}", known->name, is_right ? "right" : "WRONG");
  weft::print_by_rank_0(rt, stdout, summary_of(found, line, rt.size(), verdict.c_str()));
  if (!line.verify || is_right) return 0;
  weft::print_by_rank_0(rt, stderr,
                        known == nullptr ? "weft-uts: --verify: nothing is known of this tree\n"
                                         : "weft-uts: --verify: the counts are not the known ones\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const command_line line = weft_uts::read_command_line(argc, argv);
  try {
    weft::runtime rt;
    if (const auto other = weft::find_other_arguments(rt, alike_of(line))) {
      weft::print_by_rank_0(rt, stderr, fmt::format("weft-uts: rank {} has other arguments than rank 0\n", *other));
      return 2;
    }
    if (line.exit_code >= 0) {
      weft::print_by_rank_0(rt, line.exit_code == 0 ? stdout : stderr, line.text);
      return line.exit_code;
    }
    return count(rt, line);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft-uts: %s\n", e.what());
    return 1;
  }
}
