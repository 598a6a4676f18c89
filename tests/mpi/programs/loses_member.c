/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 1 ends by _exit(0). The others call a collective that needs it, as the first argument says, and end well if it fails
   because a process has ended. Those that need nothing of rank 1 may succeed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 20000 };
static int in[8 * LONG], out[8 * LONG];

static int call(const char* name, int count) {
  const MPI_Comm all = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm made;
  if (strcmp(name, "barrier") == 0) return MPI_Barrier(all);
  if (strcmp(name, "allreduce") == 0) return MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, all);
  if (strcmp(name, "bcast") == 0) return MPI_Bcast(out, count, MPI_INT, 1, all);
  if (strcmp(name, "alltoall") == 0) return MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, all);
  if (strcmp(name, "allgather") == 0) return MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, all);
  if (strcmp(name, "split") == 0) return MPI_Comm_split(all, 0, 0, &made);
  if (strcmp(name, "ibarrier") == 0) MPI_Ibarrier(all, &request);
  if (strcmp(name, "iallreduce") == 0) MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, all, &request);
  if (strcmp(name, "persistent") == 0) {
    MPI_Allreduce_init(in, out, count, MPI_INT, MPI_SUM, all, MPI_INFO_NULL, &request);
    MPI_Start(&request);
  }
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank, class = MPI_SUCCESS;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) _exit(0);
  const int error = call(argv[1], argc > 2 ? LONG : 1);
  MPI_Error_class(error, &class);
  if (class == MPI_ERR_PROC_ABORTED) _exit(0);
  MPI_Error_string(error, text, &argc);
  fprintf(stderr, "rank %d: %s\n", rank, text);
  _exit(1);
}
