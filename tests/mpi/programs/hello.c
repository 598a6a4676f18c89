/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank says its number; rank 0 adds the numbers up. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, sum, length;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  printf("rank %d of %d\n", rank, size);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Finalize();
  return rank == 0 && sum != size * (size - 1) / 2;
}
