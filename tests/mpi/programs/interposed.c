/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool's MPI_Send, which counts and calls PMPI_Send, is called instead of the library's. */
#include <mpi.h>

static int calls;

int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  ++calls;
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int main(int argc, char** argv) {
  int rank, number = 3;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return calls != (rank == 0);
}
