// SPDX-License-Identifier: BSD-3-Clause
// The subcommands that hold Weft against other libraries.
#include "weft-perf/option_groups.hpp"

namespace weft::perf {
namespace {

void add_collectives(command_parser& parser, options& out, texts& text) {
  parser.add_numbers("--ranks", out.ranks, 2, 64, "of a job; several with commas");
  parser.add_texts("--sizes,--size", text.sizes, "bytes of a rank: 8, 64KiB, 1MiB; several with commas").with_commas();
  parser.add_numbers("--threads", out.threads, 1, 64,
                     "of each rank, each with a group and a device of its own; several with commas");
  parser
      .add_texts("--algorithms,--algorithm", out.algorithms,
                 "Weft by these, too, as in ring,binomial; all: by every one")
      .with_commas();
}

}  // namespace

void add_common(command_parser& parser, options& out) {
  parser.add_flag("--json", out.json, "one JSON object a line instead of a table");
  parser.add_number("--duration", out.seconds, 1e-4, 3600.0, "seconds of measuring in a round");
  parser.add_number("--rounds", out.rounds, 1, 100000, "rounds of each point");
  parser.add_number("--fast-below", out.bounds.fast_below_ns, 1.0, handover_bounds::all_fast_ns,
                    "a hand-over below so many ns is called fast; 1000000: rounds are not told apart");
  parser.add_number("--slow-below", out.bounds.slow_below_ns, 1.0, handover_bounds::all_fast_ns,
                    "one below so many ns is called slow, others far");
}

void add_comparisons(command_parser& app, options& out, texts& text) {
  command_parser& resources = app.add_subcommand("resources", "the library's parts alone; runs without a launcher");
  resources.add_numbers("--threads", out.threads, 1, 64,
                        "that use a part at a time, 1, 2, 4 … as many as cores unless given");
  command_parser& reductions = app.add_subcommand(
      "reductions", "reductions of each type and operation beside vectorized loops; runs without a launcher");
  add_common(reductions, out);
  reductions.add_texts("--sizes,--size", text.sizes, "bytes of both arrays; several with commas").with_commas();
  command_parser& compare =
      app.add_subcommand("compare", "Weft against every peer that is installed; starts what it needs");
  command_parser& collectives = app.add_subcommand(
      "collectives", "Weft's collectives, and those of every MPI that is installed; starts what it needs");
  add_collectives(collectives, out, text);
  for (command_parser* each : {&compare, &collectives}) {
    each->add_repeated("--mpi", out.mpi, "a further MPI: NAME=mpicc:mpiexec; may be repeated");
  }
  for (command_parser* each : {&resources, &compare, &collectives}) {
    add_common(*each, out);
    each->add_texts("--claims", out.claims,
                    "these alone, as in am_latency,mt_rate, of collectives as in barrier,reduce")
        .with_commas();
    each->add_text("--peers", out.peers_folder, "folder of the sources that are compiled for peers");
  }
  compare.add_flag("--quick", out.quick, "the headline points alone, in two to three minutes");
  compare.add_choice("--pin", out.bench.pin, pinnings,
                     "core: each of Weft's threads to a core, as MPI's are unless they wait in its calls for others of "
                     "their core; or none");
  command_parser& points = app.add_subcommand("points", "");
  points.add_texts("text", out.points, "");
  points.add_choice("--pin", out.bench.pin, pinnings, "");
}

}  // namespace weft::perf
