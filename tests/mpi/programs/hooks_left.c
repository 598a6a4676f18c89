// SPDX-License-Identifier: BSD-3-Clause
// Hooks at MPI_Finalize: `chain`, each hook starts the next one; `message`, a hook waits for one of another rank;
// `never`, a hook never ends.
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <string.h>

static int left = 5, ended = 0;
static int chain(MPIX_Async_thing thing) {
  ++ended;
  if (--left > 0 && MPIX_Async_spawn(thing, chain, MPIX_Async_get_state(thing), MPIX_STREAM_NULL) != MPI_SUCCESS) return 0;
  return MPIX_ASYNC_DONE;
}

static MPI_Request request;
static int message;
static int receive(MPIX_Async_thing thing) {
  (void)thing;
  if (!MPIX_Request_is_complete(request)) return MPIX_ASYNC_NOPROGRESS;
  MPI_Request_free(&request);
  ++ended;
  return MPIX_ASYNC_DONE;
}
static int rounds = 1000;
static int send_late(MPIX_Async_thing thing) {
  (void)thing;
  if (--rounds > 0) return MPIX_ASYNC_NOPROGRESS;
  static const int sent = 7;
  MPI_Request sending;
  MPI_Isend(&sent, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &sending);
  MPI_Request_free(&sending);
  return MPIX_ASYNC_DONE;
}

static int never(MPIX_Async_thing thing) {
  (void)thing;
  return MPIX_ASYNC_NOPROGRESS;
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  int rank = 0, size = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(kind, "chain") == 0) MPIX_Async_start(chain, NULL, MPIX_STREAM_NULL);
  if (strcmp(kind, "message") == 0 && rank == 0) {
    MPI_Irecv(&message, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD, &request);
    MPIX_Async_start(receive, NULL, MPIX_STREAM_NULL);
  }
  if (strcmp(kind, "message") == 0 && rank == size - 1) MPIX_Async_start(send_late, NULL, MPIX_STREAM_NULL);
  if (strcmp(kind, "never") == 0) MPIX_Async_start(never, NULL, MPIX_STREAM_NULL);
  MPI_Finalize();
  printf("%d ended, message %d\n", ended, message);
  return 0;
}
