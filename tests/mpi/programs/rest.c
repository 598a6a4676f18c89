/* SPDX-License-Identifier: BSD-3-Clause */
/* Says how much memory a rank at rest has: all that is resident, and its own (private pages). */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    char line[256];
    long number, resident = 0, own = 0;
    FILE* const from = fopen("/proc/self/smaps_rollup", "r");
    while (from != NULL && fgets(line, sizeof line, from) != NULL) {
      if (sscanf(line, "Rss: %ld", &number) == 1) resident = number;
      if (sscanf(line, "Private_Clean: %ld", &number) == 1 || sscanf(line, "Private_Dirty: %ld", &number) == 1) own += number;
    }
    if (from != NULL) fclose(from);
    printf("%ld %ld\n", resident, own);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
