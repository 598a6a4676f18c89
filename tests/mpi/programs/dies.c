/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 1 ends as the argument says, while the others wait for a message of it. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void quiet_handler(MPI_Comm* in, int* code, ...) {
  (void)in;
  (void)code;
}

int main(int argc, char** argv) {
  int rank, number = 0;
  const char* wanted = argc > 1 ? argv[1] : "";
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Errhandler handler;
    if (strcmp(wanted, "rank") == 0) MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    if (strcmp(wanted, "self") == 0) {
      MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ABORT);
      MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_SELF);
    }
    if (strcmp(wanted, "users") == 0) {
      MPI_Comm_create_errhandler(quiet_handler, &handler);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
      if (MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD) == MPI_ERR_RANK) MPI_Abort(MPI_COMM_WORLD, 9);
    }
    if (strcmp(wanted, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(wanted, "exit") == 0) exit(0);
    if (strcmp(wanted, "silent") == 0) _exit(0);
    if (strcmp(wanted, "killed") == 0) raise(SIGKILL);
  }
  MPI_Recv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
