// SPDX-License-Identifier: BSD-3-Clause
// mpi-dt GRAPH CLASS: runs a graph of the NAS benchmark DT on all ranks of an MPI job.
#include <mpi.h>

#include <cstdio>
#include <optional>
#include <string>

#include "run.hpp"

namespace {

template <class Value>
std::optional<Value> find(const std::string& name, const char* const* names, int count) {
  for (int i = 0; i < count; ++i) {
    if (name == names[i]) return static_cast<Value>(i);
  }
  return std::nullopt;
}

int run(int argc, char** argv, int rank) {
  static constexpr const char* kinds[] = {"BH", "WH", "SH"};
  static constexpr const char* classes[] = {"S", "W", "A", "B"};
  std::optional<weft_dt::graph_kind> kind;
  std::optional<weft_dt::graph_class> size;
  if (argc == 3) {
    kind = find<weft_dt::graph_kind>(argv[1], kinds, 3);
    size = find<weft_dt::graph_class>(argv[2], classes, 4);
  }
  if (!kind || !size) {
    if (rank == 0) std::fputs("usage: mpi-dt BH|WH|SH S|W|A|B\n", stderr);
    return 2;
  }
  const mpi_dt::run_result found = mpi_dt::run_graph(MPI_COMM_WORLD, *kind, *size);
  const std::int64_t expected = weft_dt::checksum_of(*kind, *size);
  const bool is_right = found.checksum == expected;
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    std::printf(
        "{\"graph\": \"%s\", \"class\": \"%s\", \"ranks\": %d, \"seconds\": %.6f, \"bytes\": %llu, \"checksum\": %lld, "
        "\"expected\": %lld, \"verdict\": \"%s\"}\n",
        argv[1], argv[2], ranks, found.seconds, static_cast<unsigned long long>(found.bytes),
        static_cast<long long>(found.checksum), static_cast<long long>(expected), is_right ? "right" : "WRONG");
  }
  return is_right ? 0 : 1;
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
