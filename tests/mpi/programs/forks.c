/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that a rank has forked ends as programs do; that is not the end of the rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, status = -1;
  pid_t child;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  child = fork();
  if (child == 0) exit(0);
  waitpid(child, &status, 0);
  printf("child of %d ended with %d\n", rank, status);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
