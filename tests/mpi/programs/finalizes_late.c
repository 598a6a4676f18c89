/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls MPI_Finalize as late as a process can, as its argument says: in a function of atexit, in a destructor of the
   program, or in the destructor of a library that it opens: its second argument, which is this file, too (-DLIBRARY). */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls_here = 0;

static void finish(void) {
  static int sent[100000], received[100000];
  int ones = 1, all = 0, rank, size;
  MPI_Request requests[2];
  MPI_Comm copy;
  MPI_Group empty;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Isend(sent, 100000, MPI_INT, (rank + 1) % size, 0, copy, &requests[0]);
  MPI_Irecv(received, 100000, MPI_INT, (rank + size - 1) % size, 0, copy, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Allreduce(&ones, &all, 1, MPI_INT, MPI_SUM, copy);
  if (MPI_Comm_fromint(MPI_Comm_toint(copy)) != copy) abort();
  MPI_Group_incl(MPI_GROUP_EMPTY, 0, NULL, &empty);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  printf("rank %d of %d\n", rank, all);
}

__attribute__((destructor)) static void at_unload(void) {
  if (calls_here) finish();
}

#ifdef LIBRARY
void start(void) {
  MPI_Init(NULL, NULL);
  calls_here = 1;
}
#else
int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "";
  if (strcmp(wanted, "atexit") == 0) atexit(finish);
  if (strcmp(wanted, "destructor") == 0) calls_here = 1;
  if (strcmp(wanted, "library") != 0) {
    MPI_Init(&argc, &argv);
    return 0;
  }
  void* const library = dlopen(argv[2], RTLD_NOW);
  void (*const start_library)(void) = library != NULL ? (void (*)(void))dlsym(library, "start") : NULL;
  if (start_library == NULL) return 3;
  start_library();
  if (argc > 3) dlclose(library);
  return 0;
}
#endif
