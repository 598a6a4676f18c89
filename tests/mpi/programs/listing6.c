// SPDX-License-Identifier: BSD-3-Clause
// zhou2024, Listing 6: a hook calls functions of the program as requests complete. Each rank sends to all.
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>

static int num_requests;
static int num_open;
static MPI_Request* request_array;
static int* received;
static int called = 0;

static void on_completion(int i) {
  if (i % 2 == 0 && received[i / 2] != i / 2 * 10) abort();  // the data are there
  ++called;
}

static int dummy_poll(MPIX_Async_thing thing) {
  (void)thing;
  int num_pending = 0;
  for (int i = 0; i < num_requests; i++) {
    if (request_array[i] == MPI_REQUEST_NULL) {
      // nothing to do
    } else if (MPIX_Request_is_complete(request_array[i])) {
      on_completion(i);
      MPI_Request_free(&request_array[i]);
    } else {
      num_pending++;
    }
  }
  num_open = num_pending;
  return num_pending == 0 ? MPIX_ASYNC_DONE : MPIX_ASYNC_NOPROGRESS;
}

int main(void) {
  MPI_Init(NULL, NULL);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  num_open = num_requests = 2 * size;
  request_array = malloc(2 * (size_t)size * sizeof *request_array);
  received = malloc((size_t)size * sizeof *received);
  const int sent = rank * 10;
  for (int peer = 0; peer < size; ++peer) {
    MPI_Irecv(&received[peer], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &request_array[2 * peer]);
    MPI_Isend(&sent, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &request_array[2 * peer + 1]);
  }
  MPIX_Async_start(dummy_poll, NULL, MPIX_STREAM_NULL);
  while (num_open > 0) MPIX_Stream_progress(MPIX_STREAM_NULL);
  MPI_Finalize();
  printf("%d of %d\n", called, num_requests);
  free(request_array);
  free(received);
  return 0;
}
