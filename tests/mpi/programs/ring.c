/* SPDX-License-Identifier: BSD-3-Clause */
/* A number goes around all ranks, in messages of several sizes and in both forms of sends. */
#include <mpi.h>
#include <stdlib.h>

static int failed;

static void around(int rank, int size, int count) {
  int* numbers = calloc((size_t)count + 1, sizeof(int));
  int i, next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int* received = calloc((size_t)count + 1, sizeof(int));
  for (i = 0; i < count; ++i) numbers[i] = rank + i;
  MPI_Irecv(received, count, MPI_INT, before, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(numbers, count, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  for (i = 0; i < count; ++i) failed |= received[i] != before + i;
  failed |= statuses[0].MPI_SOURCE != before || requests[0] != MPI_REQUEST_NULL;
  MPI_Sendrecv(received, count, MPI_INT, before, 5, numbers, count, MPI_INT, next, 5, MPI_COMM_WORLD, &statuses[0]);
  for (i = 0; i < count; ++i) failed |= numbers[i] != rank + i;
  free(received);
  free(numbers);
}

int main(int argc, char** argv) {
  int rank, size, count, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (count = 0; count < 1000000; count = count * 4 + 1) around(rank, size, count);
  failed |= provided != MPI_THREAD_MULTIPLE;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
