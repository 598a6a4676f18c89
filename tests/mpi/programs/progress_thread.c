/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 starts a receive and then calls no function of MPI until rank 1 has sent, synchronously: another thread has to
   match the message. Rank 1 says so by a file, whose name is the argument. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  enum { looks = 6000, look_us = 10000 };
  int rank, got = 0, sent = 42, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  if (rank == 0) {
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    int look = 0;
    while (access(argv[1], F_OK) != 0 && look < looks) usleep(look_us), ++look;
    puts(look < looks ? "matched meanwhile" : "not matched");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (got != sent) MPI_Abort(MPI_COMM_WORLD, 3);
  } else if (rank == 1) {
    MPI_Ssend(&sent, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    FILE* file = fopen(argv[1], "w");
    if (file == NULL || fclose(file) != 0) MPI_Abort(MPI_COMM_WORLD, 4);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
