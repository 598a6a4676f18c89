// SPDX-License-Identifier: BSD-3-Clause
// Continuations that end the job, with one line each, or are left at MPI_Finalize. Compiled as C++, as one throws.
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <string.h>

static int called = 0;

static int count(int rc, void* data) {
  (void)rc, (void)data;
  ++called;
  return MPI_SUCCESS;
}

static int end(int rc, void* word) {
  (void)rc;
  if (strcmp((const char*)word, "finalizes") == 0) MPI_Finalize();
  if (strcmp((const char*)word, "waits") == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp((const char*)word, "returns") == 0) return MPI_ERR_IO;
#ifdef __cplusplus
  if (strcmp((const char*)word, "throws") == 0) throw 1;
#endif
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Request request = MPI_REQUEST_NULL, home;
  int number = 0, two[2] = {1, 2};
  if (argc != 2) return 2;
  MPI_Init(NULL, NULL);
  if (strcmp(argv[1], "fails") == 0) {
    MPI_Irecv(&number, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    MPIX_Continue(&request, count, NULL, 0, MPI_STATUS_IGNORE, MPI_REQUEST_NULL);
    MPI_Send(two, 2, MPI_INT, 0, 3, MPI_COMM_SELF);
    for (int call = 0; call < 5; ++call) MPIX_Stream_progress(MPIX_STREAM_NULL);
    return 3;
  }
  if (strcmp(argv[1], "left") == 0) {
    MPI_Irecv(&number, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    MPIX_Continue(&request, count, NULL, 0, MPI_STATUS_IGNORE, MPI_REQUEST_NULL);
    request = MPI_REQUEST_NULL;
    MPIX_Continue(&request, count, NULL, 0, MPI_STATUS_IGNORE, MPI_REQUEST_NULL);
    MPI_Finalize();
    printf("%d called\n", called);
    return 0;
  }
  MPIX_Continue_init(0, 0, MPI_INFO_NULL, &home);
  if (strcmp(argv[1], "frees") == 0) {
    MPIX_Continue(&request, count, NULL, 0, MPI_STATUS_IGNORE, home);
    MPI_Request_free(&home);
    return 3;
  }
  if (strcmp(argv[1], "tests") == 0) {
    MPI_Irecv(&number, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    MPIX_Continue(&request, count, NULL, 0, MPI_STATUS_IGNORE, home);
    MPI_Test(&request, &number, MPI_STATUS_IGNORE);
    return 3;
  }
  MPIX_Continue(&request, end, argv[1], MPIX_CONT_IMMEDIATE, MPI_STATUS_IGNORE, MPI_REQUEST_NULL);
  return 3;
}
