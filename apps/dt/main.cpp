// SPDX-License-Identifier: BSD-3-Clause
// weft-dt: runs a graph of the NAS benchmark DT on all ranks of a job.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <weft/weft.hpp>

#include "dt/graph.hpp"
#include "dt/options.hpp"
#include "dt/run.hpp"
#include "rank_output.hpp"

namespace {

using weft_dt::command_line;
using weft_dt::run_result;

std::string summary_of(const run_result& found, const command_line& line, std::int64_t expected, std::uint32_t ranks) {
  const weft_dt::graph graph{line.run.kind, line.run.size};
  const char* const kind = weft_dt::name_of(line.run.kind);
  const char* const size = weft_dt::name_of(line.run.size);
  const double rate = found.seconds > 0 ? static_cast<double>(found.bytes) / found.seconds : 0;
  const char* const verdict = found.checksum == expected ? "right" : "WRONG";
  if (line.json) {
    std::string out =
        fmt::format(R"({{"graph": "{}", "class": "{}", "nodes": {}, "edges": {}, "ranks": {}, "workers": {}, )"
                    R"("alone": {}, "seconds": {:.6f})",
                    kind, size, graph.nodes().size(), graph.edges().size(), ranks, line.run.workers, line.run.is_alone,
                    found.seconds);
    if (!line.run.is_alone) {
      out += fmt::format(R"(, "bytes": {}, "bytes_between_ranks": {}, "bytes_per_second": {:.0f}, "checksum": {}, )"
                         R"("expected": {}, "verdict": "{}")",
                         found.bytes, found.bytes_between_ranks, rate, found.checksum, expected, verdict);
    }
    return out + "}\n";
  }
  std::string out = fmt::format("graph           {} {}, {} nodes, {} edges\nseconds         {:.3f}\n", kind, size,
                                graph.nodes().size(), graph.edges().size(), found.seconds);
  if (line.run.is_alone) return out + "messages        none (--alone)\n";
  return out +
         fmt::format("bytes           {}, {} of them between ranks\nMB a second     {:.1f}\nchecksum        {}, {}\n",
                     found.bytes, found.bytes_between_ranks, rate / 1e6, found.checksum, verdict);
}

int run(weft::runtime& rt, const command_line& line) {
  run_result found;
  {
    weft::progress_line shown{line.show_progress && rt.rank() == 0 && weft::progress_line::has_terminal()};
    found = weft_dt::run_graph(rt, line.run, [&](std::uint32_t done, std::uint32_t all) {
      shown.show([&](double seconds) {
        return fmt::format("{} of {} nodes of rank 0 of {}, {:.1f} s", done, all, rt.size(), seconds);
      });
    });
  }
  const std::int64_t expected = line.expected.value_or(weft_dt::checksum_of(line.run.kind, line.run.size));
  weft::print_by_rank_0(rt, stdout, summary_of(found, line, expected, rt.size()));
  if (line.run.is_alone || found.checksum == expected) return 0;
  weft::print_by_rank_0(rt, stderr,
                        fmt::format("weft-dt: the checksum is {}, expected is {}\n", found.checksum, expected));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const command_line line = weft_dt::read_command_line(argc, argv);
  try {
    weft::runtime rt;
    if (const auto other = weft_dt::find_other_arguments(rt, line.run, line.exit_code)) {
      weft::print_by_rank_0(rt, stderr, fmt::format("weft-dt: rank {} has other arguments than rank 0\n", *other));
      return 2;
    }
    if (line.exit_code >= 0) {
      weft::print_by_rank_0(rt, line.exit_code == 0 ? stdout : stderr, line.text);
      return line.exit_code;
    }
    return run(rt, line);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft-dt: %s\n", e.what());
    return 1;
  }
}
