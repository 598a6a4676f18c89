/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends as its argument says: rank (a wrong one), unnamed (the same in a communicator without a name), source (one where
 * receives take any), null (a communicator), absent (a function), file (whose handler is fatal), session (as well),
 * abort, exit (before MPI_Finalize), late (a call), thread (a second one; a level may follow), request (for which two
 * threads wait). */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void* call(void* unused) {
  int number;
  (void)unused;
  MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return NULL;
}

static void* wait_for(void* request) {
  MPI_Request mine = *(MPI_Request*)request;
  MPI_Wait(&mine, MPI_STATUS_IGNORE);
  return NULL;
}

static void with_threads(const char* wanted, int level) {
  int number, provided;
  MPI_Request request;
  pthread_t threads[2];
  const int is_request = strcmp(wanted, "request") == 0;
  MPI_Init_thread(NULL, NULL, level, &provided);
  if (is_request) MPI_Irecv(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, is_request ? wait_for : call, &request);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  int number = 0;
  const char* wanted = argc > 1 ? argv[1] : "";
  MPI_Session session;
  if (strcmp(wanted, "session") == 0 && MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS)
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  if (strcmp(wanted, "request") == 0) with_threads(wanted, MPI_THREAD_MULTIPLE);
  if (strcmp(wanted, "thread") == 0) with_threads(wanted, atoi(argv[2]));
  MPI_Init(NULL, NULL);
  if (strcmp(wanted, "rank") == 0) MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  if (strcmp(wanted, "unnamed") == 0) {
    MPI_Comm unnamed;
    MPI_Comm_dup(MPI_COMM_WORLD, &unnamed);
    MPI_Send(&number, 1, MPI_INT, 99, 0, unnamed);
  }
  if (strcmp(wanted, "source") == 0) {
    MPI_Info hints;
    MPI_Comm by_tag;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "mpi_assert_allow_overtaking", "true");
    MPI_Info_set(hints, "weft_assert_any_source_by_tag", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &by_tag);
    MPI_Recv(&number, 1, MPI_INT, 0, 0, by_tag, MPI_STATUS_IGNORE);
  }
  if (strcmp(wanted, "null") == 0) MPI_Barrier(MPI_COMM_NULL);
  if (strcmp(wanted, "file") == 0) {
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS) return 0;
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  }
  if (strcmp(wanted, "absent") == 0) MPI_Comm_spawn("none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, NULL, NULL);
  if (strcmp(wanted, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(wanted, "exit") == 0) return 0;
  MPI_Finalize();
  if (strcmp(wanted, "late") == 0) MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}
