// weft-uts: counts an unbalanced tree on all ranks of a job.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <weft/weft.hpp>

#include "uts/options.hpp"
#include "uts/search.hpp"
#include "uts/tree.hpp"

namespace {

using weft_uts::command_line;
using weft_uts::search_result;
using clock = std::chrono::steady_clock;

bool is_terminal() { return ::isatty(STDERR_FILENO) == 1 || std::getenv("WEFT_RUN_TERMINAL_COLUMNS") != nullptr; }

// The nodes that this rank has counted so far, some times a second.
class progress_line {
 public:
  progress_line(bool is_wanted, std::uint32_t ranks) : is_wanted_{is_wanted}, ranks_{ranks} {}
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line() {
    if (is_shown_) std::fputs("\r\x1b[K", stderr);
  }
  void show(std::uint64_t nodes) {
    const auto now = clock::now();
    if (!is_wanted_ || now < next_) return;
    next_ = now + std::chrono::milliseconds{200};
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    fmt::print(stderr, "\r\x1b[K{:.1f} million nodes by rank 0 of {}, {:.2f} million a second",
               static_cast<double>(nodes) / 1e6, ranks_, seconds > 0 ? static_cast<double>(nodes) / seconds / 1e6 : 0);
    std::fflush(stderr);
    is_shown_ = true;
  }

 private:
  bool is_wanted_;
  bool is_shown_ = false;
  std::uint32_t ranks_;
  clock::time_point begin_ = clock::now();
  clock::time_point next_ = begin_ + std::chrono::milliseconds{200};
};

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

// Rank 0 speaks for all. No rank leaves before it has: a launcher may end the job at the first failed exit.
void say(weft::runtime& rt, std::FILE* where, const std::string& text) {
  if (rt.rank() == 0) {
    std::fputs(text.c_str(), where);
    std::fflush(where);
  }
  rt.barrier();
}

int count(weft::runtime& rt, const command_line& line) {
  if (line.sequential && rt.size() > 1) {
    say(rt, stderr, "weft-uts: --sequential is for one process\n");
    return 2;
  }
  search_result found;
  {
    progress_line shown{line.show_progress && is_terminal() && rt.rank() == 0, rt.size()};
    found = line.sequential ? weft_uts::count_alone(line.search)
                            : weft_uts::count_tree(rt, line.search, [&](std::uint64_t nodes) { shown.show(nodes); });
  }
  if (found.counts.nodes > line.search.nodes_max) {
    say(rt, stderr,
        fmt::format("weft-uts: the tree has more than {} nodes (--nodes-max): not counted to its end\n",
                    line.search.nodes_max));
    return 1;
  }
  const weft_uts::known_tree* const known = weft_uts::find_known(line.search.tree);
  const bool is_right = known != nullptr && known->counts == found.counts;
  const std::string verdict =
      known == nullptr ? "none" : fmt::format("{}, {}", known->name, is_right ? "right" : "WRONG");
  say(rt, stdout, summary_of(found, line, rt.size(), verdict.c_str()));
  if (!line.verify || is_right) return 0;
  say(rt, stderr,
      known == nullptr ? "weft-uts: --verify: nothing is known of this tree\n"
                       : "weft-uts: --verify: the counts are not the known ones\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const command_line line = weft_uts::read_command_line(argc, argv);
  try {
    weft::runtime rt;
    if (line.exit_code >= 0) {
      say(rt, line.exit_code == 0 ? stdout : stderr, line.text);
      return line.exit_code;
    }
    return count(rt, line);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft-uts: %s\n", e.what());
    return 1;
  }
}
