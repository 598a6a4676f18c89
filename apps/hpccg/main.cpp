// SPDX-License-Identifier: BSD-3-Clause
// weft-hpccg: solves a system of equations by conjugate gradients on all ranks of a job.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <weft/weft.hpp>

#include "hpccg/check.hpp"
#include "hpccg/options.hpp"
#include "hpccg/solve.hpp"
#include "rank_output.hpp"

namespace {

using weft_hpccg::command_line;
using weft_hpccg::solve_result;

constexpr std::uint32_t print_every = 15;  // as the benchmark does

// `form` has places for the iteration and its residual.
std::string residuals_of(const solve_result& found, fmt::format_string<std::uint32_t&, const double&> form) {
  std::string out;
  for (std::uint32_t iteration = 1; iteration <= found.iterations(); ++iteration) {
    if (iteration == 1 || iteration % print_every == 0)
      out += fmt::format(form, iteration, found.residuals[iteration - 1]);
  }
  return out;
}

std::string summary_of(const solve_result& found, const command_line& line, std::uint32_t ranks, std::size_t compared,
                       bool is_right) {
  const auto& [cells, workers] = line.solve;
  const double rate =
      found.seconds > 0 ? found.operations(static_cast<double>(cells.cells()) * ranks) / found.seconds / 1e6 : 0;
  const char* const verdict = is_right ? "right" : "WRONG";
  if (line.json) {
    std::string residuals = residuals_of(found, R"("{}": {:.6g}, )");
    residuals.resize(residuals.empty() ? 0 : residuals.size() - 2);
    return fmt::format(
        R"({{"nx": {}, "ny": {}, "nz": {}, "ranks": {}, "workers": {}, "iterations": {}, "residuals": {{{}}}, )"
        R"("residual": {:.6g}, "error": {:.3g}, "compared": {}, "seconds": {:.6f}, "halo_seconds": {:.6f}, )"
        R"("sum_seconds": {:.6f}, "mflops": {:.1f}, "verdict": "{}"}})"
        "\n",
        cells.nx, cells.ny, cells.nz, ranks, workers, found.iterations(), residuals, found.residuals.back(),
        found.error, compared, found.seconds, found.halo_seconds, found.sum_seconds, rate, verdict);
  }
  return fmt::format("cells           {} x {} x {} of each of {} ranks\n", cells.nx, cells.ny, cells.nz, ranks) +
         residuals_of(found, "residual {:<6} {:.6g}\n") +
         fmt::format(
             "iterations      {}, then the residual is {:.6g}\nsolution        off by {:.3g} at most\n"
             "seconds         {:.3f}, of these {:.3f} for planes of neighbours and {:.3f} for sums\n"
             "Mflop/s         {:.1f}\nverdict         {}, {} residuals compared\n",
             found.iterations(), found.residuals.back(), found.error, found.seconds, found.halo_seconds,
             found.sum_seconds, rate, verdict, compared);
}

int run(weft::runtime& rt, const command_line& line) {
  solve_result found;
  {
    weft::progress_line shown{line.show_progress && rt.rank() == 0 && weft::progress_line::has_terminal()};
    found = weft_hpccg::solve(rt, line.solve, [&](std::uint32_t done) {
      shown.show([&](double seconds) {
        return fmt::format("{} of {} iterations, {:.1f} s", done, weft_hpccg::iterations_max, seconds);
      });
    });
  }
  std::vector<weft_hpccg::known_residual> known = weft_hpccg::known_residuals(line.solve.cells, rt.size());
  if (line.expected) known.push_back(*line.expected);
  const std::string wrong = weft_hpccg::find_wrong(found, known);
  weft::print_by_rank_0(rt, stdout, summary_of(found, line, rt.size(), known.size(), wrong.empty()));
  if (wrong.empty()) return 0;
  weft::print_by_rank_0(rt, stderr, fmt::format("weft-hpccg: {}\n", wrong));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const command_line line = weft_hpccg::read_command_line(argc, argv);
  try {
    weft::runtime rt;
    if (const auto other = weft_hpccg::find_other_arguments(rt, line.solve, line.exit_code)) {
      weft::print_by_rank_0(rt, stderr, fmt::format("weft-hpccg: rank {} has other arguments than rank 0\n", *other));
      return 2;
    }
    if (line.exit_code >= 0) {
      weft::print_by_rank_0(rt, line.exit_code == 0 ? stdout : stderr, line.text);
      return line.exit_code;
    }
    return run(rt, line);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft-hpccg: %s\n", e.what());
    return 1;
  }
}
