// weft-run -n N [options] program arguments...
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "base/config.hpp"
#include "weft-run/binding.hpp"
#include "weft-run/job.hpp"
#include "weft-run/launch.hpp"
#include "weft-run/options.hpp"
#include "weft/error.hpp"

int main(int argc, char** argv) {
  using namespace weft::run;
  int exit_code = 0;
  try {
    const auto chosen = parse_options(argc, argv, exit_code);
    if (!chosen) return exit_code;
    (void)weft::base::process_settings();  // a misspelt variable is told once, not by every rank
    const inherited_state inherited = prepare_process();
    const binding bind{chosen->bind, chosen->ranks};
    job ranks{*chosen, inherited, bind, argv};
    if (bind.is_crowded()) ranks.say("--bind: there are more ranks than objects, so some share theirs");
    return ranks.run();
  } catch (const weft::error& problem) {
    std::fprintf(stderr, "weft-run: %s\n", problem.what());
    return problem.code() == weft::errc::configuration ? exit_usage : exit_launcher;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "weft-run: %s\n", problem.what());
    return exit_launcher;
  }
}
