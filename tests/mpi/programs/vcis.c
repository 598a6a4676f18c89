/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of two or more ranks exchange messages with the next and the previous rank, each in communicators of its own,
   and wait for requests of all of them together. It prints the VCI that each communicator has. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { thread_count = 4, comm_count = 3, round_count = 40, length_max = 20000 };

static int rank, size;
static MPI_Comm comms[thread_count][comm_count];

static void check(int is_right, const char* text) {
  if (is_right) return;
  fprintf(stderr, "rank %d: %s\n", rank, text);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static int vci_of(MPI_Comm comm) {
  MPI_Info info;
  char value[16] = "";
  int flag = 0, length = sizeof value;
  MPI_Comm_get_info(comm, &info);
  MPI_Info_get_string(info, "weft_vci", &length, value, &flag);
  MPI_Info_free(&info);
  check(flag, "a communicator without weft_vci");
  return atoi(value);
}

static MPI_Comm with_vci(const char* value) {
  MPI_Comm out;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "weft_vci", value);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &out);
  MPI_Info_free(&info);
  return out;
}

/* Rounds of messages, short and long ones, whose requests end in the order of the peers. */
static void exchange(int thread, int round) {
  static _Thread_local int sent[comm_count][length_max], received[comm_count][length_max];
  MPI_Request all[2 * comm_count];
  MPI_Status statuses[2 * comm_count];
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  const int length = round % 8 == 7 ? length_max : 1 + round;
  for (int i = 0; i < comm_count; ++i) {
    for (int j = 0; j < length; ++j) sent[i][j] = rank + 100 * thread + 1000 * i + 10000 * round + j;
    memset(received[i], -1, sizeof received[i]);
    const int source = round % 3 == 0 ? MPI_ANY_SOURCE : previous;
    MPI_Irecv(received[i], length_max, MPI_INT, source, thread, comms[thread][i], &all[i]);
  }
  for (int i = 0; i < comm_count; ++i)
    MPI_Isend(sent[i], length, MPI_INT, next, thread, comms[thread][i], &all[comm_count + i]);
  if (round % 2 == 0) {
    MPI_Waitall(2 * comm_count, all, statuses);
  } else {
    for (int left = 2 * comm_count; left > 0; --left) {
      int index = -1;
      MPI_Status status;
      if (round % 4 == 1) {
        MPI_Waitany(2 * comm_count, all, &index, &status);
      } else {
        for (int flag = 0; !flag;) MPI_Testany(2 * comm_count, all, &index, &flag, &status);
      }
      check(index >= 0 && index < 2 * comm_count, "no request is complete");
      statuses[index] = status;
    }
  }
  for (int i = 0; i < comm_count; ++i) {
    int count = -1;
    MPI_Get_count(&statuses[i], MPI_INT, &count);
    check(count == length && statuses[i].MPI_SOURCE == previous && statuses[i].MPI_TAG == thread, "a wrong status");
    for (int j = 0; j < length; ++j)
      check(received[i][j] == previous + 100 * thread + 1000 * i + 10000 * round + j, "wrong contents");
  }
}

/* Blocking calls, a probe, and a collective in each communicator. */
static void call_all(int thread, int round) {
  MPI_Comm comm = comms[thread][round % comm_count];
  int mine = rank, other = -1, sum = -1;
  MPI_Status status;
  if (rank % 2 == 0) {
    MPI_Ssend(&mine, 1, MPI_INT, (rank + 1) % size, 7, comm);
  }
  if ((rank + size - 1) % size % 2 == 0) {
    MPI_Probe(MPI_ANY_SOURCE, 7, comm, &status);
    MPI_Recv(&other, 1, MPI_INT, status.MPI_SOURCE, 7, comm, MPI_STATUS_IGNORE);
    check(other == status.MPI_SOURCE, "a wrong message of a probe");
  }
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  check(sum == size * (size - 1) / 2, "a wrong sum");
}

static void* run(void* argument) {
  const int thread = (int)(intptr_t)argument;
  for (int round = 0; round < round_count; ++round) {
    exchange(thread, round);
    if (size % 2 == 0 && round % 4 == 0) call_all(thread, round);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  pthread_t threads[thread_count];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < thread_count; ++i)
    for (int j = 0; j < comm_count; ++j) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i][j]);
  MPI_Comm named = with_vci("1"), beyond = with_vci("9999"), no_number = with_vci("1x"), half;
  /* The first member's value counts. */
  MPI_Comm asked = with_vci(rank == 0 ? "2" : "0");
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  char line[200];
  int used = snprintf(line, sizeof line, "world %d, dups", vci_of(MPI_COMM_WORLD));
  for (int j = 0; j < 4; ++j) used += snprintf(line + used, sizeof line - used, " %d", vci_of(comms[j / comm_count][j % comm_count]));
  printf("%s; named %d, asked %d\n", line, vci_of(named), vci_of(asked));
  check(vci_of(beyond) >= 0 && vci_of(no_number) >= 0 && vci_of(half) >= 0, "no VCI");
  fflush(stdout);
  for (int i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, run, (void*)(intptr_t)i);
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  MPI_Comm_free(&named);
  MPI_Comm_free(&beyond);
  MPI_Comm_free(&no_number);
  MPI_Comm_free(&asked);
  MPI_Comm_free(&half);
  for (int i = 0; i < thread_count; ++i)
    for (int j = 0; j < comm_count; ++j) MPI_Comm_free(&comms[i][j]);
  MPI_Finalize();
  return 0;
}
