// SPDX-License-Identifier: BSD-3-Clause
// zhou2024, Listing 7: MPI_Wait waits for a hook, by a generalized request.
#include <mpi.h>
#include <mpix.h>
#include <stdlib.h>

#define INTERVAL 0.01

struct dummy_state {
  double wtime_complete;
  MPI_Request greq;
};

static int dummy_poll(MPIX_Async_thing thing) {
  struct dummy_state* p = MPIX_Async_get_state(thing);
  if (MPI_Wtime() > p->wtime_complete) {
    MPI_Grequest_complete(p->greq);
    free(p);
    return MPIX_ASYNC_DONE;
  }
  return MPIX_ASYNC_NOPROGRESS;
}

static int query_fn(void* extra_state, MPI_Status* status) {
  (void)extra_state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int free_fn(void* extra_state) { return extra_state == NULL ? MPI_SUCCESS : MPI_ERR_OTHER; }
static int cancel_fn(void* extra_state, int complete) {
  (void)extra_state;
  (void)complete;
  return MPI_SUCCESS;
}

int main(void) {
  MPI_Init(NULL, NULL);
  MPI_Request greq;
  MPI_Grequest_start(query_fn, free_fn, cancel_fn, NULL, &greq);
  struct dummy_state* p = malloc(sizeof *p);
  const double end = MPI_Wtime() + INTERVAL;
  p->wtime_complete = end;
  p->greq = greq;
  MPIX_Async_start(dummy_poll, p, MPIX_STREAM_NULL);
  MPI_Wait(&greq, MPI_STATUS_IGNORE);
  const int is_right = MPI_Wtime() >= end && greq == MPI_REQUEST_NULL;
  MPI_Finalize();
  return is_right ? 0 : 1;
}
