// SPDX-License-Identifier: BSD-3-Clause
// zhou2024, Listing 2: MPI_Finalize makes progress until all hooks have ended.
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>

#define TASK_DURATION 0.01
#define NUM_TASKS 10

struct dummy_state {
  double wtime_finish;
};
static int ended = 0;

static int dummy_poll(MPIX_Async_thing thing) {
  struct dummy_state* p = MPIX_Async_get_state(thing);
  if (MPI_Wtime() < p->wtime_finish) return MPIX_ASYNC_PENDING;
  free(p);
  ++ended;
  return MPIX_ASYNC_DONE;
}

static void add_async(void) {
  struct dummy_state* p = malloc(sizeof *p);
  p->wtime_finish = MPI_Wtime() + TASK_DURATION;
  MPIX_Async_start(dummy_poll, p, MPIX_STREAM_NULL);
}

int main(void) {
  MPI_Init(NULL, NULL);
  for (int i = 0; i < NUM_TASKS; i++) add_async();
  MPI_Finalize();
  printf("%d of %d ended\n", ended, NUM_TASKS);
  return ended == NUM_TASKS ? 0 : 1;
}
