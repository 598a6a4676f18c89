/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends as its argument says: rank (a wrong one), absent (a function), abort, exit (before MPI_Finalize), late (a call). */
#include <mpi.h>
#include <string.h>

int main(int argc, char** argv) {
  int number = 0;
  const char* wanted = argc > 1 ? argv[1] : "";
  MPI_Init(NULL, NULL);
  if (strcmp(wanted, "rank") == 0) MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  if (strcmp(wanted, "absent") == 0) MPI_Comm_spawn("none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, NULL, NULL);
  if (strcmp(wanted, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(wanted, "exit") == 0) return 0;
  MPI_Finalize();
  if (strcmp(wanted, "late") == 0) MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}
