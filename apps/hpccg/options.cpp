#include "hpccg/options.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>

#include "command_line.hpp"
#include "number_option.hpp"
#include "program_version.hpp"

namespace weft_hpccg {

namespace {

constexpr std::uint32_t side_max = 1U << 20;

// The matrix numbers cells by 32 bits.
void check_size(const box& cells) {
  const std::uint64_t all = cells.cells_with_halo();
  if (all > std::numeric_limits<std::uint32_t>::max()) {
    throw CLI::ValidationError{
        "NX NY NZ", "a rank has at most 2^32 cells, those next to its own included, not " + std::to_string(all)};
  }
}

}  // namespace

command_line read_command_line(int argc, const char* const* argv) {
  command_line out;
  box& cells = out.solve.cells;
  known_residual expected{};
  bool quiet = false;
  CLI::App app{"Solves a sparse system of equations by conjugate gradients (HPCCG), with threads in each process.",
               "weft-hpccg"};
  const auto add_side = [&](const char* name, std::uint32_t& to, const char* help) {
    app.add_option(name, to, help)->required()->transform(weft::number_from<std::uint32_t>(1, side_max));
  };
  add_side("NX", cells.nx, "cells of each rank along x");
  add_side("NY", cells.ny, "cells of each rank along y");
  add_side("NZ", cells.nz, "cells of each rank along z, along which ranks are stacked");
  app.add_option("--workers", out.solve.workers, "threads of each process that compute")
      ->transform(weft::number_from(1, 1024))
      ->capture_default_str();
  CLI::Option* const residual =
      app.add_option("--expect", expected.value, "compare a residual with this number, besides the known ones")
          ->transform(weft::number_from(std::numeric_limits<double>::min(), 1e300));
  CLI::Option* const iteration =
      app.add_option("--expect-at", expected.iteration, "the iteration of the expected residual")
          ->transform(weft::number_from<std::uint32_t>(1, iterations_max));
  residual->needs(iteration);
  iteration->needs(residual);
  app.add_flag("--json", out.json, "one JSON object instead of text");
  app.add_flag("--no-progress", quiet, "no progress line, even on a terminal");
  app.set_version_flag("--version", weft::version_of("weft-hpccg"));
  try {
    app.parse(argc, argv);
    check_size(cells);
    if (residual->count() != 0) out.expected = expected;
  } catch (const CLI::ParseError& e) {
    out.exit_code = weft::answer_to(app, e, out.text);
  }
  out.show_progress = !quiet;
  return out;
}

}  // namespace weft_hpccg
