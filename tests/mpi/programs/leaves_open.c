/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls MPI_Finalize with operations that are not complete, as the argument says. Ranks send to the next one. A second
 * argument: a thread starts them, which has ended by then. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 300000, MANY = 3000 };
static int sent[LONG], received[LONG], room[2 * LONG];
static MPI_Request requests[MANY];
static MPI_Message message;
static MPI_Comm copy;
static int rank, size, next, last;
static const char* wanted = "";

static int is(const char* name) { return strcmp(wanted, name) == 0; }

static int no_query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  return MPI_SUCCESS;
}
static int no_free(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int no_cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

static void messages(void) {
  if (is("receive")) MPI_Irecv(received, 10, MPI_INT, last, 7, MPI_COMM_WORLD, requests);
  if (is("receives")) {
    for (int i = 0; i < 12; ++i) MPI_Irecv(received, 10, MPI_INT, MPI_ANY_SOURCE, i < 3 ? MPI_ANY_TAG : i, MPI_COMM_WORLD, requests + i);
  }
  if (is("send")) MPI_Isend(sent, LONG, MPI_INT, next, 5, MPI_COMM_WORLD, requests);
  if (is("synchronous")) MPI_Issend(sent, 1, MPI_INT, next, 5, MPI_COMM_WORLD, requests);
  if (is("to_self")) MPI_Issend(sent, 1, MPI_INT, 0, 5, MPI_COMM_SELF, requests);
  if (is("many")) {
    for (int i = 0; i < MANY; ++i) MPI_Isend(sent, 1 + i % 500, MPI_INT, next, 5, MPI_COMM_WORLD, requests + i);
  }
  if (is("both")) { /* they match */
    MPI_Isend(sent, LONG, MPI_INT, next, 5, MPI_COMM_WORLD, requests);
    MPI_Irecv(received, LONG, MPI_INT, last, 5, MPI_COMM_WORLD, requests + 1);
  }
  if (is("freed")) { /* allowed for the sender, who gets no line */
    MPI_Isend(sent, LONG, MPI_INT, next, 5, MPI_COMM_WORLD, requests);
    MPI_Request_free(requests);
    MPI_Irecv(received, 1, MPI_INT, last, 6, MPI_COMM_WORLD, requests);
    MPI_Request_free(requests);
  }
  if (is("buffered")) {
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(sent, LONG, MPI_INT, next, 5, MPI_COMM_WORLD);
  }
  if (is("inactive")) {
    MPI_Send_init(sent, 1, MPI_INT, next, 5, MPI_COMM_WORLD, requests);
    MPI_Recv_init(received, 1, MPI_INT, last, 5, MPI_COMM_WORLD, requests + 1);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, requests + 2);
  }
  if (is("persistent")) {
    MPI_Ssend_init(sent, 1, MPI_INT, next, 5, MPI_COMM_WORLD, requests);
    MPI_Recv_init(received, 1, MPI_INT, last, 6, MPI_COMM_WORLD, requests + 1);
    MPI_Startall(2, requests);
  }
  if (is("matched") || is("matched_long")) {
    const int count = is("matched") ? 1 : LONG;
    MPI_Request done;
    MPI_Isend(sent, count, MPI_INT, next, 5, MPI_COMM_WORLD, &done);
    MPI_Mprobe(last, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Request_free(&done);
  }
  if (is("matched_receive")) {
    MPI_Isend(sent, LONG, MPI_INT, next, 5, MPI_COMM_WORLD, requests);
    MPI_Mprobe(last, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(received, LONG, MPI_INT, &message, requests + 1);
  }
  if (is("generalized")) MPI_Grequest_start(no_query, no_free, no_cancel, NULL, requests);
  if (is("freed_communicator")) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Irecv(received, 10, MPI_INT, last, 7, copy, requests);
    MPI_Isend(sent, LONG, MPI_INT, next, 8, copy, requests + 1);
    MPI_Comm_set_name(copy, "copy");
    MPI_Comm_free(&copy);
  }
}

/* Without wildcards and order. */
static void unordered(void) {
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "mpi_assert_allow_overtaking", "true");
  MPI_Info_set(hints, "mpi_assert_no_any_source", "true");
  MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &copy);
  MPI_Info_free(&hints);
  MPI_Isend(sent, LONG, MPI_INT, next, 5, copy, requests);
  MPI_Irecv(received, LONG, MPI_INT, last, 6, copy, requests + 1);
}

/* Rank 0 alone begins them. */
static void collectives(void) {
  if (is("idup") && rank == 0) MPI_Comm_idup(MPI_COMM_WORLD, &copy, requests);
  if (is("collective") && rank == 0) MPI_Ibarrier(MPI_COMM_WORLD, requests);
  if (is("collectives") && rank == 0) {
    MPI_Ibcast(sent, LONG, MPI_INT, 0, MPI_COMM_WORLD, requests);
    MPI_Ialltoall(sent, LONG / size, MPI_INT, received, LONG / size, MPI_INT, MPI_COMM_WORLD, requests + 1);
    MPI_Iallreduce(sent, room, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, requests + 2);
    for (int i = 3; i < 300; ++i) MPI_Ireduce(sent + i, room + i, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, requests + i);
  }
  if (is("collective_of_all")) MPI_Iallreduce(sent, received, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, requests);
  if (is("persistent_collective")) {
    MPI_Allreduce_init(sent, received, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
    if (rank == 0) MPI_Start(requests);
  }
  if (is("collective_of_freed")) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 0) MPI_Ibcast(sent, LONG, MPI_INT, 0, copy, requests);
    MPI_Comm_free(&copy);
  }
}

/* What is right: rank 0 leaves while the next one has yet to receive. Rank 1 tells whether it has got all. */
static void late_receiver(void) {
  if (rank == 0) {
    for (int i = 0; i < LONG; ++i) sent[i] = i;
    MPI_Isend(sent, LONG, MPI_INT, 1, 5, MPI_COMM_WORLD, requests);
    MPI_Request_free(requests);
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(sent, LONG, MPI_INT, 1, 6, MPI_COMM_WORLD);
  } else if (rank == 1) {
    usleep(100000);
    for (int tag = 6; tag >= 5; --tag) {
      memset(received, 0, sizeof received);
      MPI_Recv(received, LONG, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < LONG; ++i) {
        if (received[i] != i) exit(4);
      }
    }
  }
}

static void* start_all(void* unused) {
  messages();
  collectives();
  if (is("unordered")) unordered();
  return unused;
}

int main(int argc, char** argv) {
  int level;
  pthread_t thread;
  wanted = argc > 1 ? argv[1] : "";
  MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  last = (rank + size - 1) % size;
  if (argc > 2) {
    pthread_create(&thread, NULL, start_all, NULL);
    pthread_join(thread, NULL);
  } else {
    start_all(NULL);
  }
  if (is("late_receiver")) late_receiver();
  MPI_Finalize();
  return 0;
}
