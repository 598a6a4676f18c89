/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of MPI in a function of its own, so that callgrind collects the functions that they pass (--toggle-collect=walked):
 * `walk allreduce` of 8 bytes, or `walk vector`, a message of a column. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { rows = 64, columns = 64, rounds = 3, tag = 5 };

static int rank;
static double matrix[rows * columns];
static MPI_Datatype column;

__attribute__((noinline)) void walked(int is_vector) {
  if (is_vector) {
    MPI_Request request;
    if (rank == 0) {
      MPI_Isend(matrix, 1, column, 1, tag, MPI_COMM_WORLD, &request);
    } else {
      MPI_Irecv(matrix, 1, column, 0, tag, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    double mine = 1;
    double sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 2) {
    fputs("walk: say which: allreduce or vector\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < rounds; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    walked(strcmp(argv[1], "vector") == 0);
  }
  MPI_Type_free(&column);
  MPI_Finalize();
  return 0;
}
