// SPDX-License-Identifier: BSD-3-Clause
// zhou2024, Listing 5: a stream for each thread, whose hooks and progress are the thread's alone.
#include <mpi.h>
#include <mpix.h>
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INTERVAL 0.001
#define MAX_THREADS 10
#define NUM_TASKS 10

struct dummy_state {
  double wtime_complete;
  int* counter_ptr;
};

static int dummy_poll(MPIX_Async_thing thing) {
  struct dummy_state* p = MPIX_Async_get_state(thing);
  if (MPI_Wtime() >= p->wtime_complete) {
    (*(p->counter_ptr))--;
    free(p);
    return MPIX_ASYNC_DONE;
  }
  return MPIX_ASYNC_NOPROGRESS;
}

static void add_async(int* counter_ptr, MPIX_Stream stream) {
  struct dummy_state* p = malloc(sizeof(struct dummy_state));
  p->wtime_complete = MPI_Wtime() + INTERVAL + rand() * 1e-5 / RAND_MAX;
  p->counter_ptr = counter_ptr;
  MPIX_Async_start(dummy_poll, p, stream);
}

static MPIX_Stream streams[MAX_THREADS];

static void* thread_fn(void* arg) {
  const int thread_id = (int)(intptr_t)arg;
  MPIX_Stream stream = streams[thread_id];
  int counter = NUM_TASKS;
  for (int i = 0; i < NUM_TASKS; i++) add_async(&counter, stream);
  while (counter > 0) MPIX_Stream_progress(stream);
  return NULL;
}

int main(void) {
  int provided;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  assert(provided == MPI_THREAD_MULTIPLE);
  const int num_threads = 10;
  for (int i = 0; i < num_threads; i++) MPIX_Stream_create(MPI_INFO_NULL, &streams[i]);
  pthread_t thread_ids[MAX_THREADS];
  for (int i = 0; i < num_threads; i++) pthread_create(&thread_ids[i], NULL, thread_fn, (void*)(intptr_t)i);
  for (int i = 0; i < num_threads; i++) pthread_join(thread_ids[i], NULL);
  for (int i = 0; i < num_threads; i++) MPIX_Stream_free(&streams[i]);
  MPI_Finalize();
  printf("%d threads\n", num_threads);
  return 0;
}
