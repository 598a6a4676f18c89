// SPDX-License-Identifier: BSD-3-Clause
// mpi-hpccg NX NY NZ: solves a system of equations by conjugate gradients on all ranks of an MPI job.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "hpccg/known.hpp"
#include "solve.hpp"

namespace {

// What is wrong; empty where all is right. Comparisons are false for a value that is no number.
std::string find_wrong(const mpi_hpccg::solve_result& found, const std::vector<weft_hpccg::known_residual>& known) {
  for (const auto& [iteration, value] : known) {
    const bool is_there = iteration <= found.residuals.size();
    if (!is_there || !(std::abs(found.residuals[iteration - 1] - value) / value <= weft_hpccg::residual_off_max)) {
      return "the residual of iteration " + std::to_string(iteration) + " is not the known one";
    }
  }
  return found.error <= weft_hpccg::error_max ? "" : "the solution is off";
}

std::uint32_t side(const char* text) {
  char* end = nullptr;
  const unsigned long out = std::strtoul(text, &end, 10);
  return *end == '\0' && out <= 4096 ? static_cast<std::uint32_t>(out) : 0;
}

int run(int argc, char** argv, int rank) {
  weft_hpccg::box cells{0, 0, 0};
  if (argc == 4) cells = {side(argv[1]), side(argv[2]), side(argv[3])};
  if (cells.cells() == 0) {
    if (rank == 0) std::fputs("usage: mpi-hpccg NX NY NZ, each from 1 to 4096\n", stderr);
    return 2;
  }
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<weft_hpccg::known_residual> known =
      weft_hpccg::known_residuals(cells, static_cast<std::uint32_t>(ranks));
  const mpi_hpccg::solve_result found = mpi_hpccg::solve(MPI_COMM_WORLD, cells);
  const std::string wrong = find_wrong(found, known);
  if (rank == 0) {
    std::printf("{\"nx\": %u, \"ny\": %u, \"nz\": %u, \"ranks\": %d, \"residuals\": {", cells.nx, cells.ny, cells.nz,
                ranks);
    for (std::size_t index = 14; index + 1 < found.residuals.size(); index += 15) {
      std::printf("%s\"%zu\": %.6g", index == 14 ? "" : ", ", index + 1, found.residuals[index]);
    }
    std::printf("}, \"iterations\": %zu, \"error\": %.3g, \"compared\": %zu, \"seconds\": %.6f, \"verdict\": \"%s\"}\n",
                found.residuals.size() - 1, found.error, known.size(), found.seconds,
                wrong.empty() ? "right" : "WRONG");
    if (!wrong.empty()) std::fprintf(stderr, "mpi-hpccg: %s\n", wrong.c_str());
  }
  return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int code = run(argc, argv, rank);
  MPI_Finalize();
  return code;
}
