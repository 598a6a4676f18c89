// SPDX-License-Identifier: BSD-3-Clause
// zhou2024, Listing 4: one hook for a queue of tasks. The paper leaves the stream out of the call.
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>

#define INTERVAL 0.005

struct task {
  double wtime_end;
  struct task* next;
};
static struct task *head = NULL, *tail = NULL;
static int ended = 0;

static int class_poll(MPIX_Async_thing thing) {
  (void)thing;
  const double tm = MPI_Wtime();
  while (head && tm >= head->wtime_end) {
    struct task* p = head;
    head = head->next;
    free(p);
    ++ended;
  }
  return head == NULL ? MPIX_ASYNC_DONE : MPIX_ASYNC_NOPROGRESS;
}

static void add_async(void) {
  struct task* p = malloc(sizeof(struct task));
  p->wtime_end = MPI_Wtime() + INTERVAL;
  p->next = NULL;
  if (head == NULL) {
    head = p;
    tail = p;
  } else {
    tail->next = p;
    tail = p;
  }
}

int main(void) {
  MPI_Init(NULL, NULL);
  const int count = 10;
  for (int i = 0; i < count; i++) add_async();
  MPIX_Async_start(class_poll, head, MPIX_STREAM_NULL);
  while (head) MPIX_Stream_progress(MPIX_STREAM_NULL);
  MPI_Finalize();
  printf("%d of %d ended\n", ended, count);
  return ended == count ? 0 : 1;
}
