/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Wtime before, within and after a rank: of one thread, or of four that hand times on. argv[1]: "threads" or "one". */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { threads = 4, steps = 100000 };

static double last;
static int wrong;

static void* hand_on(void* unused) {
  for (int step = 0; step < steps; ++step) {
    double before, now;
    __atomic_load(&last, &before, __ATOMIC_ACQUIRE);
    now = MPI_Wtime();
    if (now < before) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
    __atomic_store(&last, &now, __ATOMIC_RELEASE);
  }
  return unused;
}

static double kernel_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Within five microseconds of the kernel's time, whatever interrupts the calling thread. */
static void compare(void) {
  for (int step = 0; step < 1000; ++step) {
    const double before = kernel_time();
    const double now = MPI_Wtime();
    if (now < before - 5e-6 || now > kernel_time() + 5e-6) wrong = 2;
  }
}

int main(int argc, char** argv) {
  const int is_threaded = argc > 1 && strcmp(argv[1], "threads") == 0;
  const double first = MPI_Wtime();
  int level = 0;
  MPI_Init_thread(&argc, &argv, is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
  last = MPI_Wtime();
  if (last < first) wrong = 3;
  pthread_t running[threads];
  for (int each = 0; is_threaded && each < threads; ++each) pthread_create(&running[each], NULL, hand_on, NULL);
  for (int each = 0; is_threaded && each < threads; ++each) pthread_join(running[each], NULL);
  if (!is_threaded) hand_on(NULL);
  compare();
  const double tick = MPI_Wtick();
  MPI_Barrier(MPI_COMM_WORLD);
  const double in_rank = MPI_Wtime();
  MPI_Finalize();
  if (MPI_Wtime() < in_rank || in_rank < last) wrong = 4;
  if (!(tick > 0 && tick <= 1e-6) || MPI_Wtick() != tick) wrong = 5;
  printf("%d\n", wrong);
  return wrong;
}
