// SPDX-License-Identifier: BSD-3-Clause
#include "hpccg/options.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "command_line.hpp"
#include "program_version.hpp"

namespace weft_hpccg {

namespace {

constexpr std::uint32_t side_max = 1U << 20;

// The matrix numbers cells by 32 bits.
void check_size(const box& cells) {
  const std::uint64_t all = cells.cells_with_halo();
  if (all > std::numeric_limits<std::uint32_t>::max()) {
    throw weft::command_mistake{
        "NX NY NZ", "a rank has at most 2^32 cells, those next to its own included, not " + std::to_string(all)};
  }
}

}  // namespace

command_line read_command_line(int argc, const char* const* argv) {
  command_line out;
  box& cells = out.solve.cells;
  known_residual expected{};
  bool quiet = false;
  weft::command_parser parser{
      "Solves a sparse system of equations by conjugate gradients (HPCCG), with threads in each process.", "weft-hpccg",
      weft::version_of("weft-hpccg")};
  parser.add_number("NX", cells.nx, 1, side_max, "cells of each rank along x").required();
  parser.add_number("NY", cells.ny, 1, side_max, "cells of each rank along y").required();
  parser.add_number("NZ", cells.nz, 1, side_max, "cells of each rank along z, along which ranks are stacked")
      .required();
  parser.add_number("--workers", out.solve.workers, 1, 1024, "threads of each process that compute")
      .with_default(weft::number_text(out.solve.workers));
  const weft::command_option residual =
      parser.add_number("--expect", expected.value, std::numeric_limits<double>::min(), 1e300,
                        "compare a residual with this number, besides the known ones");
  const weft::command_option iteration =
      parser.add_number("--expect-at", expected.iteration, 1, iterations_max, "the iteration of the expected residual");
  residual.needs(iteration);
  iteration.needs(residual);
  parser.add_flag("--json", out.json, "one JSON object instead of text");
  parser.add_flag("--no-progress", quiet, "no progress line, even on a terminal");
  auto answer = parser.parse(argc, argv);
  try {
    if (!answer) check_size(cells);
  } catch (const weft::command_mistake& mistake) {
    answer = parser.refuse(mistake);
  }
  if (answer) {
    out.exit_code = answer->exit_code;
    out.text = answer->text;
  }
  if (residual.is_given()) out.expected = expected;
  out.show_progress = !quiet;
  return out;
}

}  // namespace weft_hpccg
