// SPDX-License-Identifier: BSD-3-Clause
// A function of mpix.h before MPI_Init, or after MPI_Finalize.
#include <mpi.h>
#include <mpix.h>
#include <string.h>

static int poll(MPIX_Async_thing thing) {
  (void)thing;
  return MPIX_ASYNC_DONE;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (strcmp(argv[1], "after") == 0) {
    MPI_Init(NULL, NULL);
    MPI_Finalize();
  }
  if (strcmp(argv[2], "start") == 0) MPIX_Async_start(poll, NULL, MPIX_STREAM_NULL);
  if (strcmp(argv[2], "progress") == 0) MPIX_Stream_progress(MPIX_STREAM_NULL);
  if (strcmp(argv[2], "query") == 0) return MPIX_Request_is_complete(MPI_REQUEST_NULL);
  return 3;
}
