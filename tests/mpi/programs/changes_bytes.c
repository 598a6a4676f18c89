/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: changes the last byte of one message that MPI_Isend sends, the one whose number CHANGES says. */
#include <mpi.h>
#include <stdlib.h>

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  static int number;
  const char* wanted = getenv("CHANGES");
  if (wanted != NULL && count > 0 && ++number == atoi(wanted)) ((char*)buffer)[count - 1] ^= 1;
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
