// SPDX-License-Identifier: BSD-3-Clause
// Mistakes after which ranks wait for ever, one by the first argument.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int is(const char* name, const char* other) { return strcmp(name, other) == 0; }

int main(int argc, char** argv) {
  const char* situation = argc > 1 ? argv[1] : "";
  int rank, size, other, word = 0;
  static int words[100000];
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  other = rank ^ 1;
  if (is(situation, "receives")) {  // all receive first
    MPI_Recv(&word, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
  } else if (is(situation, "sends")) {  // all send long messages first
    MPI_Send(words, 100000, MPI_INT, other, 3, MPI_COMM_WORLD);
    MPI_Recv(words, 100000, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is(situation, "tag")) {
    if (rank == 1) MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&word, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is(situation, "request")) {  // of a communicator with a name, whose ranks have other numbers
    MPI_Comm backwards;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    MPI_Comm_set_name(backwards, "backwards");
    MPI_Irecv(&word, 1, MPI_INT, rank, 7, backwards, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (is(situation, "barrier")) {
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(situation, "allreduce")) {
    MPI_Comm same;
    MPI_Comm_dup(MPI_COMM_WORLD, &same);
    if (rank == 0) MPI_Allreduce(&word, words, 1, MPI_INT, MPI_SUM, same);
  } else if (is(situation, "probe")) {
    MPI_Probe(other, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is(situation, "waits")) {
    MPI_Request both[2];
    for (int i = 0; i < 2; ++i) MPI_Irecv(words + i, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &both[i]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  } else {
    fprintf(stderr, "stands_still SITUATION\n");
  }
  MPI_Finalize();
  return 0;
}
