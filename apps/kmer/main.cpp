// SPDX-License-Identifier: BSD-3-Clause
// weft-kmer: counts k-mers on all ranks of a job.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

#include <weft/weft.hpp>

#include "kmer/count_job.hpp"
#include "kmer/exchange.hpp"
#include "kmer/input_error.hpp"
#include "kmer/options.hpp"
#include "kmer/summary.hpp"
#include "rank_output.hpp"

namespace {

int count(weft::runtime& rt, weft_kmer::count_options options) {
  // Each thread has a device; the runtime's own is one more.
  const unsigned threads_max = rt.attributes().devices_max - 1;
  try {
    const auto by_rank = weft_kmer::threads_of_all(rt, {options.threads, threads_max});
    weft_kmer::check_threads(by_rank);
    options.threads = by_rank[rt.rank()].wanted;
  } catch (const weft_kmer::job_error& e) {  // the same on every rank
    weft::print_by_rank_0(rt, stderr, fmt::format("weft-kmer: {}\n", e.what()));
    return 1;
  }
  weft_kmer::exchange link{rt, options.threads};
  const auto report = weft_kmer::run_count_job(link, options);
  if (report && rt.rank() == 0) std::fputs(weft_kmer::warnings_of(*report, options).c_str(), stderr);
  weft::print_by_rank_0(rt, stdout, report && rt.rank() == 0 ? weft_kmer::summary_of(*report, options) : "");
  return report ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const weft_kmer::command_line line = weft_kmer::read_command_line(argc, argv);
  try {
    weft::runtime rt;
    if (line.exit_code >= 0) {
      weft::print_by_rank_0(rt, line.exit_code == 0 ? stdout : stderr, line.text);
      return line.exit_code;
    }
    return count(rt, line.count);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft-kmer: %s\n", e.what());
    return 1;
  }
}
