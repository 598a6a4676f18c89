// SPDX-License-Identifier: BSD-3-Clause
// zhou2024, Listing 3: a counter says when all hooks have ended. The paper leaves the stream out of the call.
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>

#define TASK_DURATION 0.01
#define NUM_TASKS 10

struct dummy_state {
  double wtime_finish;
  int* counter_ptr;
};
static int stats = 0;
static double latency_sum = 0;

static void add_stat(double latency) {
  ++stats;
  latency_sum += latency;
}
static void report_stat(void) { printf("%d latencies, %s\n", stats, latency_sum >= 0 ? "none below zero" : "wrong"); }

static int dummy_poll(MPIX_Async_thing thing) {
  struct dummy_state* p = MPIX_Async_get_state(thing);
  const double wtime = MPI_Wtime();
  if (wtime >= p->wtime_finish) {
    add_stat((wtime - p->wtime_finish) * 1e6);
    (*(p->counter_ptr))--;
    free(p);
    return MPIX_ASYNC_DONE;
  }
  return MPIX_ASYNC_NOPROGRESS;
}

static void add_async(int* counter_ptr) {
  struct dummy_state* p = malloc(sizeof(struct dummy_state));
  p->wtime_finish = MPI_Wtime() + TASK_DURATION;
  p->counter_ptr = counter_ptr;
  MPIX_Async_start(dummy_poll, p, MPIX_STREAM_NULL);
}

int main(void) {
  MPI_Init(NULL, NULL);
  int counter = NUM_TASKS;
  for (int i = 0; i < NUM_TASKS; i++) add_async(&counter);
  while (counter > 0) MPIX_Stream_progress(MPIX_STREAM_NULL);
  report_stat();
  MPI_Finalize();
  return 0;
}
