/* SPDX-License-Identifier: BSD-3-Clause */
// The points of weft-perf, measured with MPI: one program for every MPI, one launch for all points of a round.
//   mpiexec -n 2 mpi_peer single|multiple calls|turns|plain|one PROCESSOR,... KIND:BYTES:THREADS:WINDOW:MILLISECONDS...
// Rank 0 prints `sample INDEX VALUE BEFORE AFTER SHARE` for each. As in weft-perf: both sides go for a fixed time, the
// first byte of a message says whether it is the last; the hand-over of a cache line is measured before and after.
// More threads than cores wait in MPI's calls, on whatever core the system gives them, or take turns as in weft-perf.
// `plain`: all threads wait in MPI's calls, on whatever core the system gives them. `one`: so, and in one communicator,
// with tags of their own.
// Of each core one processor is named.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { threads_max = 64, tags_of_thread = 4, chunk = 64, bursts = 9, exchanges = 200 };

typedef enum { latency, rate, stream, bandwidth, put, put_visible, put_rate, get, ring, barrier, broadcast, reduce, allreduce, allgather, alltoall, reduce_scatter, kinds } kind;
static const char* const names[kinds] = {"latency", "rate", "stream", "bandwidth", "put", "put_visible", "put_rate", "get", "ring", "barrier", "broadcast", "reduce",
                                         "allreduce", "allgather", "alltoall", "reduce_scatter"};

typedef struct {
  kind metric;
  size_t bytes;
  int threads;
  int window;
  double seconds;
  size_t block;  // bytes lie in blocks, a stride apart; 0: side by side
  size_t stride;
  int send_blocks, receive_blocks, by_loops;
} point;

// One thread's way to its partner thread.
typedef struct {
  const point* of;
  MPI_Comm comm;
  int tag;  // the first of its own
  int begins;
  int partner;
  int core;
  int window;
  char* out;
  char* in;
  MPI_Datatype send_type;  // of a message; without blocks, of all its bytes
  MPI_Datatype receive_type;
  char* blocks;  // by loops
  MPI_Request* requests;
  MPI_Win win;  // of the one-sided kinds
  char* mine;   // open to the partner
  unsigned looks;  // in vain, of a phase; 0: it waits in MPI's calls
  unsigned patience;
  unsigned met;
  uint64_t number;
  double count;
  double seconds;
} lane;

static int rank;
static int size;
static int has_spin_phases;
static int uses_defaults;
static int has_one_communicator;
static cpu_set_t allowed;
static int cores[CPU_SETSIZE];
static int core_count;
static MPI_Comm comms[threads_max];
static pthread_barrier_t together;

static void fail(const char* why) {
  fprintf(stderr, "mpi_peer: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void* allocate(size_t bytes) {
  void* out = NULL;
  if (posix_memalign(&out, 4096, bytes + 4096) != 0) fail("no memory");
  memset(out, 0, bytes + 4096);
  return out;
}

static size_t stride_of(size_t bytes) { return (bytes + 4095) / 4096 * 4096 + 64; }

// ---------------------------------------------------------------------------------------------- hand-over

typedef struct {
  _Atomic uint32_t step;
  char rest[60];
} handover_line;

static handover_line* line;
static uint32_t step;

static void pin(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cores[core % core_count], &one);
  sched_setaffinity(0, sizeof one, &one);
}
static void unpin(void) { sched_setaffinity(0, sizeof allowed, &allowed); }

static void connect_line(void) {
  char path[64] = "";
  int file = -1;
  if (rank == 0) {
    file = memfd_create("mpi_peer", 0);
    if (file >= 0 && ftruncate(file, sizeof(handover_line)) == 0)
      snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
  }
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) file = open(path, O_RDWR);
  int good = file >= 0;
  if (good) {
    line = mmap(NULL, sizeof(handover_line), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    good = line != MAP_FAILED;
  }
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!good) line = NULL;
}

static void wait_for_step(uint32_t wanted) {
  for (uint32_t spins = 0; atomic_load_explicit(&line->step, memory_order_acquire) != wanted;) {
    if (++spins % 8192 == 0) sched_yield();
  }
}

static int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double handover(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (line == NULL || size != 2) return 0;
  pin(rank);
  double means[bursts];
  for (int burst = 0; burst < bursts; ++burst) {
    const double begin = now();
    for (int i = 0; i < exchanges; ++i, step += 2) {
      if (rank == 0) atomic_store_explicit(&line->step, step + 1, memory_order_release);
      wait_for_step(rank == 0 ? step + 2 : step + 1);
      if (rank != 0) atomic_store_explicit(&line->step, step + 2, memory_order_release);
    }
    means[burst] = (now() - begin) * 1e9 / (2.0 * exchanges);
  }
  unpin();
  MPI_Barrier(MPI_COMM_WORLD);
  qsort(means, bursts, sizeof means[0], compare_doubles);
  return means[bursts / 2];
}

// ---------------------------------------------------------------------------------------------- time

// Calls `exchange(lane, last)` for a time; the clock is read seldom.
static void timed(lane* on, double seconds, void (*exchange)(lane*, int)) {
  const double begin = now();
  uint64_t count = 0, stride = 1;
  for (double checked = 0;;) {
    const double since = now() - begin;
    if (since - checked < 20e-6 && stride < 256) stride *= 2;
    if (since - checked > 1e-3) stride = 1;
    checked = since;
    const int last = since >= seconds;
    for (uint64_t i = 1; i < stride; ++i) exchange(on, 0);
    exchange(on, last);
    count += stride;
    if (last) break;
  }
  on->count = (double)count;
  on->seconds = now() - begin;
}

// A byte that is there already isn't written again: a send that reads eight bytes right behind that write waits for it,
// and for all stores before it. The same in weft-perf.
static void mark(char* byte, int last) {
  if (*byte != (char)last) *byte = (char)last;
}

// ---------------------------------------------------------------------------------------------- waiting

// The rules are told in weft-perf's spin_phase.hpp. A look takes twice as long here, so there are half as many; of
// several numbers that were tried these gave most, with MPICH and with Open MPI. A look is in vain until all of a
// window has come; Weft's side also knows whether something has moved.
enum { looks_seeking = 64, looks_awaiting = 50 * looks_seeking, looks_after = 128, answers_most = 256, left_behind = 2 };

static void begin_phase(lane* on) {
  on->patience = on->looks;
  on->met = 0;
}

static void met(lane* on) {
  if (++on->met > left_behind) on->patience = on->met < answers_most ? looks_after : 0;
}

static void wait_for_all(lane* on, int count) {
  if (on->looks == 0) {
    MPI_Waitall(count, on->requests, MPI_STATUSES_IGNORE);
    return;
  }
  for (unsigned vain = 0;;) {
    int done = 0;
    MPI_Testall(count, on->requests, &done, MPI_STATUSES_IGNORE);
    if (done) return;
    if (++vain < on->patience) continue;
    sched_yield();
    begin_phase(on);
    vain = 0;
  }
}

static void receive(lane* on, int count, MPI_Datatype type, int tag) {
  if (on->looks == 0) {
    MPI_Recv(on->in, count, type, on->partner, on->tag + tag, on->comm, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Irecv(on->in, count, type, on->partner, on->tag + tag, on->comm, on->requests);
  wait_for_all(on, 1);
  met(on);
}

// ---------------------------------------------------------------------------------------------- messages

// Loops of the program, in which the compiler knows the size of a block of one word. As in weft-perf.
static void pack(lane* on, char* to) {
  if (!on->of->by_loops || !on->of->send_blocks) return;
  const char* from = on->blocks;
  const size_t count = on->of->bytes / on->of->block, stride = on->of->stride;
  on->blocks[0] = to[0];
  if (on->of->block == 8) {
    for (size_t i = 0; i < count; ++i, to += 8, from += stride) memcpy(to, from, 8);
  } else {
    for (size_t i = 0; i < count; ++i, to += on->of->block, from += stride) memcpy(to, from, on->of->block);
  }
}

static void unpack(lane* on, const char* from) {
  if (!on->of->by_loops || !on->of->receive_blocks) return;
  char* to = on->blocks;
  const size_t count = on->of->bytes / on->of->block, stride = on->of->stride;
  if (on->of->block == 8) {
    for (size_t i = 0; i < count; ++i, from += 8, to += stride) memcpy(to, from, 8);
  } else {
    for (size_t i = 0; i < count; ++i, from += on->of->block, to += stride) memcpy(to, from, on->of->block);
  }
}

static void send_one(lane* on) {
  pack(on, on->out);
  MPI_Send(on->out, 1, on->send_type, on->partner, on->tag, on->comm);
}

static void receive_one(lane* on) {
  receive(on, 1, on->receive_type, 0);
  unpack(on, on->in);
}

static void ping(lane* on, int last) {
  mark(on->out, last);
  send_one(on);
  receive_one(on);
}

static void pong(lane* on) {
  do {
    receive_one(on);
    mark(on->out, on->in[0]);
    send_one(on);
  } while (on->in[0] == 0);
}

// All messages of a bandwidth's window share a buffer, as in weft-perf.
static size_t window_stride(const lane* on) {
  return on->of->metric == bandwidth && !on->of->by_loops ? 0 : stride_of(on->of->bytes);
}

static void send_window(lane* on, int last) {
  const size_t stride = window_stride(on);
  for (int i = 0; i < on->window; ++i) {
    if (i == 0 || stride != 0) mark(on->out + (size_t)i * stride, last);
    pack(on, on->out + (size_t)i * stride);
    MPI_Isend(on->out + (size_t)i * stride, 1, on->send_type, on->partner, on->tag, on->comm, &on->requests[i]);
  }
  wait_for_all(on, on->window);
  if (on->of->metric == stream && !last) return;
  receive(on, 1, MPI_CHAR, 1);
}

static void receive_windows(lane* on) {
  const size_t stride = window_stride(on);
  for (int last = 0; !last;) {
    for (int i = 0; i < on->window; ++i) {
      MPI_Irecv(on->in + (size_t)i * stride, 1, on->receive_type, on->partner, on->tag, on->comm, &on->requests[i]);
    }
    wait_for_all(on, on->window);
    for (int i = 0; i < on->window; ++i) unpack(on, on->in + (size_t)i * stride);
    if (on->of->metric != stream) met(on);
    last = on->in[0];
    if (on->of->metric == stream && !last) continue;
    MPI_Send(on->out, 1, MPI_CHAR, on->partner, on->tag + 1, on->comm);
  }
}

// ---------------------------------------------------------------------------------------------- one-sided

static void tell_end(lane* on) {
  MPI_Send(on->out, 0, MPI_CHAR, on->partner, on->tag + 2, on->comm);
  MPI_Recv(on->in, 0, MPI_CHAR, on->partner, on->tag + 2, on->comm, MPI_STATUS_IGNORE);
}
static void serve(lane* on) {
  MPI_Recv(on->in, 0, MPI_CHAR, on->partner, on->tag + 2, on->comm, MPI_STATUS_IGNORE);
  MPI_Send(on->out, 0, MPI_CHAR, on->partner, on->tag + 2, on->comm);
}

// One buffer for all puts of a window, as ucx_perftest has it.
static void put_window(lane* on, int last) {
  const int count = (int)on->of->bytes;
  for (int i = 0; i < on->window; ++i) {
    MPI_Put(on->out, count, MPI_CHAR, on->partner, 0, count, MPI_CHAR, on->win);
  }
  MPI_Win_flush(on->partner, on->win);
  if (last) tell_end(on);
}

static void get_one(lane* on, int last) {
  const int count = (int)on->of->bytes;
  MPI_Get(on->in, count, MPI_CHAR, on->partner, 0, count, MPI_CHAR, on->win);
  MPI_Win_flush(on->partner, on->win);
  if (last) tell_end(on);
}

static void put_word(lane* on, uint64_t word) {
  memcpy(on->out + on->of->bytes - sizeof word, &word, sizeof word);
  MPI_Put(on->out, (int)on->of->bytes, MPI_CHAR, on->partner, 0, (int)on->of->bytes, MPI_CHAR, on->win);
  MPI_Win_flush(on->partner, on->win);
}

// Looks without a break delay the word that they wait for.
static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static uint64_t wait_word(lane* on, uint64_t number) {
  const _Atomic uint64_t* word = (const _Atomic uint64_t*)(void*)(on->mine + on->of->bytes - sizeof(uint64_t));
  for (uint64_t looks = 1;; ++looks) {
    const uint64_t seen = atomic_load_explicit(word, memory_order_acquire);
    if ((seen & ~(UINT64_C(1) << 63)) == number) return seen;
    pause_core();
    if (looks % 16 != 0) continue;
    int flag = 0;  // progress, for implementations that need it
    MPI_Win_sync(on->win);
    MPI_Iprobe(on->partner, on->tag + 3, on->comm, &flag, MPI_STATUS_IGNORE);
    if (looks % 8192 == 0) sched_yield();
  }
}

static void visible_ping(lane* on, int last) {
  ++on->number;
  put_word(on, on->number | (uint64_t)last << 63);
  (void)wait_word(on, on->number);
}
static void visible_pong(lane* on) {
  for (uint64_t seen = 0; seen >> 63 == 0;) {
    seen = wait_word(on, ++on->number);
    put_word(on, seen);
  }
}

// ---------------------------------------------------------------------------------------------- rounds

static void phase(lane* on, double seconds) {
  switch (on->of->metric) {
    case latency: on->begins ? timed(on, seconds, ping) : pong(on); break;
    case rate:
    case stream:
    case bandwidth: on->begins ? timed(on, seconds, send_window) : receive_windows(on); break;
    case put:
    case put_rate: on->begins ? timed(on, seconds, put_window) : serve(on); break;
    case get: on->begins ? timed(on, seconds, get_one) : serve(on); break;
    case put_visible: on->begins ? timed(on, seconds, visible_ping) : visible_pong(on); break;
    default: break;
  }
}

static int is_one_sided(kind metric) { return metric >= put; }

static void* run_lane(void* argument) {
  lane* on = argument;
  if (on->core >= 0) pin(on->core);
  if (on->of->threads > 1) pthread_barrier_wait(&together);
  phase(on, on->of->seconds / 4);
  phase(on, on->of->seconds);
  return NULL;
}

static MPI_Datatype type_of(const point* of, int has_blocks) {
  MPI_Datatype out;
  if (has_blocks && !of->by_loops)
    MPI_Type_vector((int)(of->bytes / of->block), (int)of->block, (int)of->stride, MPI_CHAR, &out);
  else
    MPI_Type_contiguous((int)of->bytes, MPI_CHAR, &out);
  MPI_Type_commit(&out);
  return out;
}

static void open_lane(lane* on, const point* of, int index) {
  memset(on, 0, sizeof *on);
  on->of = of;
  on->comm = comms[has_one_communicator ? 0 : index];
  on->tag = has_one_communicator ? tags_of_thread * index : 0;
  on->begins = rank < size / 2;
  on->partner = on->begins ? rank + size / 2 : rank - size / 2;
  // As in weft-perf: partners side by side, and threads of both processes on each core.
  const int used = core_count == 1 ? 1 : core_count / 2 * 2;
  on->core = (2 * index + 2 * index / used + rank) % used;
  const int crowded = 2 * of->threads > core_count;
  if (crowded && has_spin_phases) on->looks = on->core % 2 != 0 ? looks_awaiting : looks_seeking;
  if (uses_defaults || (crowded && !has_spin_phases)) on->core = -1;
  if (size > 2) on->core = rank;
  begin_phase(on);
  on->window = of->metric == stream ? chunk : (of->metric == rate || of->metric == bandwidth || of->metric == put_rate) ? of->window : 1;
  const size_t memory = of->block != 0 ? of->bytes / of->block * of->stride : of->bytes;
  const size_t all = stride_of(memory) * (size_t)on->window;
  on->send_type = type_of(of, of->send_blocks);
  on->receive_type = type_of(of, of->receive_blocks);
  if (of->by_loops) on->blocks = allocate(memory);
  on->out = allocate(all);
  on->in = allocate(all);
  on->requests = calloc((size_t)on->window, sizeof(MPI_Request));
  if (!is_one_sided(of->metric)) return;
  MPI_Win_allocate((MPI_Aint)all, 1, MPI_INFO_NULL, on->comm, &on->mine, &on->win);
  memset(on->mine, 0, all);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, on->win);
  MPI_Barrier(on->comm);
}

static void close_lane(lane* on) {
  if (is_one_sided(on->of->metric)) {
    MPI_Win_unlock_all(on->win);
    MPI_Win_free(&on->win);
  }
  MPI_Type_free(&on->send_type);
  MPI_Type_free(&on->receive_type);
  free(on->blocks);
  free(on->out);
  free(on->in);
  free(on->requests);
}

static void print_sample(int index, const point* of, const lane* lanes, double before, double after) {
  double counts[threads_max], value = 0;
  for (int i = 0; i < of->threads; ++i) {
    const lane* each = &lanes[i];
    counts[i] = each->count;
    switch (of->metric) {
      case latency:
      case put_visible: value += each->seconds / each->count * 0.5e9 / of->threads; break;
      case put:
      case get: value += each->seconds / each->count * 1e9 / of->threads; break;
      case rate:
      case stream: value += each->count * each->window / each->seconds; break;
      default: value += each->count * each->window * (double)of->bytes / each->seconds; break;
    }
  }
  qsort(counts, (size_t)of->threads, sizeof counts[0], compare_doubles);
  const int middle = of->threads / 2;
  const double median = of->threads % 2 ? counts[middle] : (counts[middle - 1] + counts[middle]) / 2;
  printf("sample %d %.6g %.4g %.4g %.4g\n", index, value, before, after, of->threads > 1 ? counts[0] / median : 1);
  fflush(stdout);
}

// ---------------------------------------------------------------------------------------------- all ranks together

static int takes_all_ranks(const point* of) { return of->metric >= ring; }

// A message that each rank passes on to the next one.
static void go_round(lane* on) {
  const int bytes = (int)on->of->bytes, next = (rank + 1) % size, last = (rank + size - 1) % size;
  if (rank == 0) MPI_Send(on->out, bytes, MPI_CHAR, next, 0, on->comm);
  MPI_Recv(on->in, bytes, MPI_CHAR, last, 0, on->comm, MPI_STATUS_IGNORE);
  if (rank != 0) MPI_Send(on->out, bytes, MPI_CHAR, next, 0, on->comm);
}

// Roots take turns, so that each broadcast and reduction is waited for.
static void once(lane* on) {
  const int bytes = (int)on->of->bytes, doubles = bytes / 8, root = (int)(on->number++ % (uint64_t)size);
  switch (on->of->metric) {
    case ring: go_round(on); break;
    case barrier: MPI_Barrier(on->comm); break;
    case broadcast: MPI_Bcast(on->out, bytes, MPI_CHAR, root, on->comm); break;
    case reduce: MPI_Reduce(on->out, on->in, doubles, MPI_DOUBLE, MPI_SUM, root, on->comm); break;
    case allreduce: MPI_Allreduce(on->out, on->in, doubles, MPI_DOUBLE, MPI_SUM, on->comm); break;
    case allgather: MPI_Allgather(on->out, bytes, MPI_CHAR, on->in, bytes, MPI_CHAR, on->comm); break;
    case alltoall: MPI_Alltoall(on->out, bytes, MPI_CHAR, on->in, bytes, MPI_CHAR, on->comm); break;
    case reduce_scatter:
      MPI_Reduce_scatter_block(on->out, on->in, doubles / size, MPI_DOUBLE, MPI_SUM, on->comm);
      break;
    default: break;
  }
}

static void* repeat(void* argument) {
  lane* on = argument;
  if (on->of->threads > 1) pthread_barrier_wait(&together);
  for (double i = 0; i < on->count; ++i) once(on);
  return NULL;
}

// All threads of this rank, each so many times; the first of them is this one.
static double repeat_all(lane* lanes, uint64_t count) {
  const int others = lanes[0].of->threads - 1;
  pthread_t threads[threads_max];
  if (others > 0) pthread_barrier_init(&together, NULL, (unsigned)others + 1);
  for (int i = 0; i <= others; ++i) lanes[i].count = (double)count;
  for (int i = 0; i < others; ++i) {
    if (pthread_create(&threads[i], NULL, repeat, &lanes[i + 1]) != 0) fail("no thread");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  repeat(&lanes[0]);
  for (int i = 0; i < others; ++i) pthread_join(threads[i], NULL);
  if (others > 0) pthread_barrier_destroy(&together);
  return now() - begin;
}

// As in weft-perf: twice as often each time, until it takes so long at rank 0.
static double time_each(lane* lanes, double seconds) {
  for (uint64_t count = 1;; count *= 2) {
    double took = repeat_all(lanes, count);
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (took >= seconds) return took * 1e9 / (double)count;
  }
}

static void run_together(int index, const point* of) {
  static lane lanes[threads_max];
  const double before = handover();
  for (int i = 0; i < of->threads; ++i) {
    memset(&lanes[i], 0, sizeof lanes[i]);
    lanes[i].of = of;
    lanes[i].comm = comms[i];
    lanes[i].out = allocate(of->bytes * (of->metric == alltoall ? (size_t)size : 1));
    lanes[i].in = allocate(of->bytes * (size_t)size);
  }
  if (of->threads == 1) pin(rank);  // several are where the system puts them
  const double value = time_each(lanes, of->seconds) / (of->metric == ring ? size : of->threads);
  unpin();
  for (int i = 0; i < of->threads; ++i) {
    free(lanes[i].out);
    free(lanes[i].in);
  }
  const double after = handover();
  if (rank != 0) return;
  printf("sample %d %.6g %.4g %.4g 1\n", index, value, before, after);
  fflush(stdout);
}

// Pairs of more than two ranks, the first half of which begins; the last one of an odd number waits for the others.
static void run_pairs(int index, const point* of) {
  static lane mine;
  double sum = 0, value = 0;
  const int has_partner = rank < size / 2 * 2;
  if (has_partner) open_lane(&mine, of, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (has_partner) {
    run_lane(&mine);
    unpin();
    if (mine.begins) value = mine.seconds / mine.count * 0.5e9;
  }
  MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (has_partner) close_lane(&mine);
  if (rank != 0) return;
  printf("sample %d %.6g 0 0 1\n", index, sum / (size / 2));
  fflush(stdout);
}

static void run_point(int index, const point* of) {
  if (takes_all_ranks(of)) {
    run_together(index, of);
    return;
  }
  if (size > 2 && of->metric == latency && of->threads == 1) {
    run_pairs(index, of);
    return;
  }
  if (size != 2) fail("two ranks are needed; is this the launcher of this MPI?");
  static lane lanes[threads_max];
  const double before = handover();
  for (int i = 0; i < of->threads; ++i) open_lane(&lanes[i], of, i);
  if (of->threads == 1) {
    MPI_Barrier(MPI_COMM_WORLD);
    run_lane(&lanes[0]);
    unpin();
  } else {
    pthread_t threads[threads_max];
    pthread_barrier_init(&together, NULL, (unsigned)of->threads + 1);
    for (int i = 0; i < of->threads; ++i) {
      if (pthread_create(&threads[i], NULL, run_lane, &lanes[i]) != 0) fail("no thread");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_barrier_wait(&together);
    for (int i = 0; i < of->threads; ++i) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
  }
  const double after = handover();
  if (rank == 0) print_sample(index, of, lanes, before, after);
  for (int i = 0; i < of->threads; ++i) close_lane(&lanes[i]);
}

static point parse(const char* text) {
  char name[32];
  point out;
  memset(&out, 0, sizeof out);
  double milliseconds;
  if (sscanf(text, "%31[^:]:%zu:%d:%d:%lf", name, &out.bytes, &out.threads, &out.window, &milliseconds) != 5 ||
      out.threads < 1 || out.threads > threads_max || out.bytes > 1 << 30) {
    fail("this is no point");
  }
  out.seconds = milliseconds / 1000;
  for (out.metric = 0; out.metric < kinds && strcmp(name, names[out.metric]) != 0; ++out.metric) {
  }
  if (out.metric == kinds) fail("unknown kind");
  if (out.bytes < 1 && out.metric != barrier) fail("nothing is sent");
  const char* const blocks = strstr(text, ":blocks-");
  if (blocks != NULL) {
    char ends[16], how[16];
    if (sscanf(blocks, ":blocks-%zu-%zu-%15[a-z]-%15[a-z]", &out.block, &out.stride, ends, how) != 4 || out.block == 0 ||
        out.bytes % out.block != 0 || out.stride < out.block) {
      fail("these are no blocks");
    }
    out.send_blocks = strcmp(ends, "receiver") != 0;
    out.receive_blocks = strcmp(ends, "sender") != 0;
    out.by_loops = strcmp(how, "loops") == 0;
  }
  if (out.metric == put_visible && out.bytes % 8 != 0) fail("what becomes visible is looked at word by word");
  return out;
}

static void read_processors(const char* text) {
  for (char* end; *text != '\0' && core_count < CPU_SETSIZE; text = *end == ',' ? end + 1 : end) {
    const long each = strtol(text, &end, 10);
    if (end == text || each < 0 || each >= CPU_SETSIZE) break;
    cores[core_count++] = (int)each;
  }
  if (core_count == 0) fail("no processor is named");
}

int main(int argc, char** argv) {
  sched_getaffinity(0, sizeof allowed, &allowed);
  const int wanted = argc > 1 && strcmp(argv[1], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) fail("two ranks are needed, or more; is this the launcher of this MPI?");
  if (provided < wanted) fail("this MPI has no MPI_THREAD_MULTIPLE");
  int threads = 1;
  has_spin_phases = argc > 2 && strcmp(argv[2], "turns") == 0;
  has_one_communicator = argc > 2 && strcmp(argv[2], "one") == 0;
  uses_defaults = has_one_communicator || (argc > 2 && strcmp(argv[2], "plain") == 0);
  if (argc < 4 || !(has_spin_phases || uses_defaults || strcmp(argv[2], "calls") == 0)) fail("calls, turns, plain or one?");
  read_processors(argv[3]);
  for (int i = 4; i < argc; ++i) {
    const point each = parse(argv[i]);
    if (each.threads > threads) threads = each.threads;
  }
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);  // a communicator for each thread
  connect_line();
  for (int i = 4; i < argc; ++i) {
    const point each = parse(argv[i]);
    run_point(i - 4, &each);
  }
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
