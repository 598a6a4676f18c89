// SPDX-License-Identifier: BSD-3-Clause
// zhou2024, Listing 8: an allreduce of the program's own, by a hook. The paper sends its buffer while it adds to it only in
// the next round, after both requests are complete. The number of ranks is a power of two.
#include <assert.h>
#include <mpi.h>
#include <mpix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define MYALLREDUCE_TAG 99

struct myallreduce {
  int *buf, *tmp_buf;
  int count;
  MPI_Comm comm;
  int rank, size;
  int tag;
  int mask;
  MPI_Request reqs[2]; /* receive and send of each round */
  bool* done_ptr;      /* external completion flag */
};

static int myallreduce_poll(MPIX_Async_thing thing) {
  struct myallreduce* p = MPIX_Async_get_state(thing);
  int req_done = 0;
  for (int i = 0; i < 2; i++) {
    if (p->reqs[i] == MPI_REQUEST_NULL) {
      req_done++;
    } else if (MPIX_Request_is_complete(p->reqs[i])) {
      MPI_Request_free(&p->reqs[i]);
      req_done++;
    }
  }
  if (req_done != 2) return MPIX_ASYNC_NOPROGRESS;
  if (p->mask > 1) {
    for (int i = 0; i < p->count; i++) p->buf[i] += p->tmp_buf[i];
  }
  if (p->mask == p->size) {
    *(p->done_ptr) = true;
    free(p->tmp_buf);
    free(p);
    return MPIX_ASYNC_DONE;
  }
  const int dst = p->rank ^ p->mask;
  MPI_Irecv(p->tmp_buf, p->count, MPI_INT, dst, p->tag, p->comm, &p->reqs[0]);
  MPI_Isend(p->buf, p->count, MPI_INT, dst, p->tag, p->comm, &p->reqs[1]);
  p->mask <<= 1;
  return MPIX_ASYNC_NOPROGRESS;
}

static void MyAllreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  /* only deal with a special case */
  assert(sendbuf == MPI_IN_PLACE && datatype == MPI_INT && op == MPI_SUM);
  assert((size & (size - 1)) == 0);
  (void)sendbuf, (void)datatype, (void)op;
  struct myallreduce* p = malloc(sizeof(*p));
  p->buf = recvbuf;
  p->count = count;
  p->tmp_buf = malloc((size_t)count * sizeof(int));
  p->reqs[0] = p->reqs[1] = MPI_REQUEST_NULL;
  p->comm = comm;
  p->rank = rank;
  p->size = size;
  p->mask = 1;
  p->tag = MYALLREDUCE_TAG;
  bool done = false;
  p->done_ptr = &done;
  MPIX_Async_start(myallreduce_poll, p, MPIX_STREAM_NULL);
  while (!done) MPIX_Stream_progress(MPIX_STREAM_NULL);
}

int main(void) {
  enum { count = 3000, rounds = 20 };
  static int numbers[count];
  MPI_Init(NULL, NULL);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const int used = round % 2 == 0 ? count : 1;
    for (int i = 0; i < used; i++) numbers[i] = rank + i + round;
    MyAllreduce(MPI_IN_PLACE, numbers, used, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < used; i++) wrong += numbers[i] != size * (size - 1) / 2 + size * (i + round);
  }
  MPI_Finalize();
  printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
