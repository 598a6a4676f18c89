// weft-kmer: counts k-mers on all ranks of a job.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <thread>

#include <weft/weft.hpp>

#include "kmer/count_job.hpp"
#include "kmer/exchange.hpp"
#include "kmer/options.hpp"
#include "kmer/summary.hpp"

namespace {

// The same on every rank of a machine, whatever each is bound to.
unsigned default_threads(unsigned ranks) {
  return std::max(1U, static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN)) / ranks);
}

int count(weft::runtime& rt, weft_kmer::count_options options) {
  if (options.threads == 0) options.threads = default_threads(rt.size());
  weft_kmer::exchange link{rt, options.threads};
  const auto report = weft_kmer::run_count_job(link, options);
  if (report && rt.rank() == 0) {
    std::fputs(weft_kmer::summary_of(*report, options).c_str(), stdout);
    std::fflush(stdout);
  }
  // Nobody leaves before rank 0 has said what there is to say: a launcher may end the job at the first failed exit.
  rt.barrier();
  return report ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const weft_kmer::command_line line = weft_kmer::read_command_line(argc, argv);
  try {
    weft::runtime rt;
    if (line.exit_code >= 0) {
      if (rt.rank() == 0) {
        std::fputs(line.text.c_str(), line.exit_code == 0 ? stdout : stderr);
        std::fflush(line.exit_code == 0 ? stdout : stderr);
      }
      rt.barrier();
      return line.exit_code;
    }
    return count(rt, line.count);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft-kmer: %s\n", e.what());
    return 1;
  }
}
