// The subcommands that hold Weft against other libraries.
#include "number_option.hpp"
#include "weft-perf/option_groups.hpp"

namespace weft::perf {
namespace {

void add_collectives(CLI::App& to, options& out, texts& text) {
  to.add_option("--ranks", out.ranks, "of a job; several with commas")->delimiter(',')->transform(number_from(2, 64));
  to.add_option("--sizes,--size", text.sizes, "bytes of a rank: 8, 64KiB, 1MiB; several with commas")->delimiter(',');
  to.add_option("--threads", out.threads,
                "of each rank, each with a group and a device of its own; several with commas")
      ->delimiter(',')
      ->transform(number_from(1, 64));
  to.add_option("--algorithms,--algorithm", out.algorithms,
                "Weft by these, too, as in ring,binomial; all: by every one")
      ->delimiter(',');
}

}  // namespace

void add_common(CLI::App& to, options& out) {
  to.add_flag("--json", out.json, "one JSON object a line instead of a table");
  to.add_option("--duration", out.seconds, "seconds of measuring in a round")->transform(number_from(1e-4, 3600.0));
  to.add_option("--rounds", out.rounds, "rounds of each point")->transform(number_from(1, 100000));
  to.add_option("--near-below", out.near_below_ns, "a hand-over below so many ns is called near, others far")
      ->transform(number_from(1.0, 1e6));
}

void add_comparisons(CLI::App& app, options& out, texts& text) {
  CLI::App& resources = *app.add_subcommand("resources", "the library's parts alone; runs without a launcher");
  resources.add_option("--threads", out.threads, "that use a part at a time, 1, 2, 4 … as many as cores unless given")
      ->delimiter(',')
      ->transform(number_from(1, 64));
  CLI::App& reductions = *app.add_subcommand(
      "reductions", "reductions of each type and operation beside vectorized loops; runs without a launcher");
  add_common(reductions, out);
  reductions.add_option("--sizes,--size", text.sizes, "bytes of both arrays; several with commas")->delimiter(',');
  CLI::App& compare = *app.add_subcommand("compare", "Weft against every peer that is installed; starts what it needs");
  CLI::App& collectives = *app.add_subcommand(
      "collectives", "Weft's collectives, and those of every MPI that is installed; starts what it needs");
  add_collectives(collectives, out, text);
  for (CLI::App* each : {&compare, &collectives}) {
    each->add_option("--mpi", out.mpi, "a further MPI: NAME=mpicc:mpiexec; may be repeated")->allow_extra_args(false);
  }
  for (CLI::App* each : {&resources, &compare, &collectives}) {
    add_common(*each, out);
    each->add_option("--claims", out.claims,
                     "these alone, as in am_latency,mt_rate, of collectives as in barrier,reduce")
        ->delimiter(',');
    each->add_option("--peers", out.peers_folder, "folder of the sources that are compiled for peers");
  }
  compare.add_flag("--quick", out.quick, "the headline points alone, in two to three minutes");
  add_choice(compare, "--pin", out.bench.pin, pinnings,
             "core: each of Weft's threads to a core, as MPI's are unless they wait in its calls for others of "
             "their core; or none");
  CLI::App& points = *app.add_subcommand("points", "")->group("");
  points.add_option("text", out.points);
  add_choice(points, "--pin", out.bench.pin, pinnings, "");
}

}  // namespace weft::perf
