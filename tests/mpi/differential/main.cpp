// SPDX-License-Identifier: BSD-3-Clause
// Runs random MPI programs, each from its seed, and writes for each rank what it saw. Programs that were built with
// different MPI libraries have to write equal lines. Lines that begin with WRONG say where the standard determines
// something else.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cases.hpp"
#include "communicators.hpp"

namespace {

using differential::named_case;
using differential::scene;

struct arguments {
  unsigned long first = 1;
  unsigned long count = 1;
  int per_seed = 6;
  std::string folder = ".";
  std::vector<std::string> only;
  int level = MPI_THREAD_SINGLE;
  bool lists_names = false;
};

arguments read(int argc, char** argv) {
  arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--names") {
      out.lists_names = true;
      continue;
    }
    ++i;
    if (name == "--first") out.first = std::strtoul(value.c_str(), nullptr, 10);
    if (name == "--count") out.count = std::strtoul(value.c_str(), nullptr, 10);
    if (name == "--per-seed") out.per_seed = std::atoi(value.c_str());
    if (name == "--folder") out.folder = value;
    if (name == "--only") out.only.push_back(value);
    if (name == "--without") differential::left_out.push_back(value);
    if (name == "--level" && value == "multiple") out.level = MPI_THREAD_MULTIPLE;
  }
  return out;
}

bool has(const std::vector<std::string>& all, const char* name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

class program {
 public:
  program(const arguments& chosen, std::FILE* to) : chosen_{chosen}, to_{to} {
    for (const named_case& each : differential::cases()) {
      if (differential::is_left_out(each.name) || (!chosen.only.empty() && !has(chosen.only, each.name))) continue;
      if (each.threads && chosen.level != MPI_THREAD_MULTIPLE) continue;
      cases_.insert(cases_.end(), each.threads ? 4 : 1, each);  // they are few, and hold others
    }
    for (const differential::named_kind& each : differential::kinds_of_communicators()) {
      if (!differential::is_left_out(each.name)) kinds_.push_back(each);
    }
  }

  int run() {
    for (unsigned long seed = chosen_.first; seed < chosen_.first + chosen_.count; ++seed) run_seed(seed);
    return wrongs_;
  }

 private:
  void run_seed(unsigned long seed) {
    differential::random_source random{seed};
    for (int left = chosen_.per_seed; left > 0; --left) {
      const named_case of = random.pick(cases_);
      const differential::named_kind kind = random.pick(kinds_);
      const std::uint64_t made_from = random.next();
      MPI_Comm comm = kind.make(made_from);
      std::fprintf(to_, "seed %lu %s %s\n", seed, of.name, kind.name);
      std::fflush(to_);
      if (comm == MPI_COMM_NULL) continue;
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      scene here{made_from, comm, to_};
      of.run(here);
      std::fputs(here.text.c_str(), to_);
      wrongs_ += here.wrongs;
      if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
    }
  }

  const arguments& chosen_;
  std::FILE* to_;
  std::vector<named_case> cases_;
  std::vector<differential::named_kind> kinds_;
  int wrongs_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const arguments chosen = read(argc, argv);
  if (chosen.lists_names) {
    for (const named_case& each : differential::cases()) std::puts(each.name);
    for (const differential::named_kind& each : differential::kinds_of_communicators()) std::puts(each.name);
    return 0;
  }
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, chosen.level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const std::string path = chosen.folder + "/rank-" + std::to_string(rank) + ".log";
  std::FILE* const to = std::fopen(path.c_str(), "w");
  if (to == nullptr || provided < chosen.level) MPI_Abort(MPI_COMM_WORLD, 2);
  const int wrongs = program{chosen, to}.run();
  std::fclose(to);
  MPI_Finalize();
  return wrongs == 0 ? 0 : 1;
}
