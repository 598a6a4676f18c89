// SPDX-License-Identifier: BSD-3-Clause
// Threads with a stream each, whose messages go around. The ranks make their streams in different orders, and the first
// ones have no communicator: numbers of devices differ.
#include <mpi.h>
#include <mpix.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3
#define ROUNDS 40
#define LONG 20000

static MPIX_Stream streams[THREADS];
static MPI_Comm comms[THREADS];
static int wrong[THREADS];

static void* go_around(void* arg) {
  const int thread = (int)(intptr_t)arg;
  MPI_Comm comm = comms[thread];
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int* sent = malloc(LONG * sizeof *sent);
  int* received = malloc(LONG * sizeof *received);
  const int before = (rank + size - 1) % size;
  for (int round = 0; round < ROUNDS; ++round) {
    const int count = round % 10 == 9 ? LONG : round + 1;
    for (int i = 0; i < count; ++i) {
      sent[i] = 1000 * rank + 10 * round + thread;
      received[i] = -1;
    }
    MPI_Request request;
    MPI_Irecv(received, LONG, MPI_INT, round % 2 ? before : MPI_ANY_SOURCE, round, comm, &request);
    MPI_Send(sent, count, MPI_INT, (rank + 1) % size, round, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) wrong[thread] += received[i] != 1000 * before + 10 * round + thread;
  }
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  wrong[thread] += sum != size * (size - 1) / 2;
  free(sent);
  free(received);
  return NULL;
}

int main(void) {
  int provided, rank;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Stream idle[4];
  for (int i = 0; i < rank; ++i) MPIX_Stream_create(MPI_INFO_NULL, &idle[i]);
  for (int i = 0; i < THREADS; ++i) MPIX_Stream_create(MPI_INFO_NULL, &streams[i]);
  for (int i = 0; i < THREADS; ++i)
    MPIX_Stream_comm_create(MPI_COMM_WORLD, streams[rank % 2 ? THREADS - 1 - i : i], &comms[i]);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, go_around, (void*)(intptr_t)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  int all = 0;
  for (int i = 0; i < THREADS; ++i) all += wrong[i];
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&comms[i]);
  for (int i = 0; i < THREADS; ++i) MPIX_Stream_free(&streams[i]);
  for (int i = 0; i < rank; ++i) MPIX_Stream_free(&idle[i]);
  MPI_Finalize();
  printf("%d wrong\n", all);
  return 0;
}
