/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends by MPI_Abort with code 5, or by a wrong call, where standard streams are in the way: as its arguments say. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char* wanted = "";
static const char* way = "";

static int is(const char* name) { return strcmp(wanted, name) == 0; }

/* What another thread does meanwhile: it never ends. `in_the_way` counts those that have begun. */
static pthread_barrier_t in_the_way;
static FILE* quiet;

static void* read_stdin(void* unused) {
  char text[100];
  flockfile(stdin); /* as fgets does, but so that the other thread knows */
  pthread_barrier_wait(&in_the_way);
  while (fgets(text, sizeof text, stdin) != NULL) continue;
  for (;;) pause();
  return unused;
}
static void* read_file(void* unused) {
  char text[100];
  flockfile(quiet);
  pthread_barrier_wait(&in_the_way);
  while (fgets(text, sizeof text, quiet) != NULL) continue;
  return unused;
}
static void* hold_both(void* unused) {
  flockfile(stdout);
  flockfile(stderr);
  pthread_barrier_wait(&in_the_way);
  for (;;) pause();
  return unused;
}
static void* abort_too(void* unused) {
  pthread_barrier_wait(&in_the_way);
  MPI_Abort(MPI_COMM_WORLD, 5);
  return unused;
}

static void start(void* (*function)(void*), int threads) {
  pthread_t thread;
  pthread_barrier_init(&in_the_way, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; ++i) pthread_create(&thread, NULL, function, NULL);
  pthread_barrier_wait(&in_the_way);
}

/* Makes the descriptor a pipe that nobody reads and that has no room. */
static void fill(int descriptor) {
  int ends[2];
  static char block[4096];
  if (pipe(ends) != 0) exit(3);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (write(ends[1], block, sizeof block) > 0) continue;
  fcntl(ends[1], F_SETFL, 0);
  dup2(ends[1], descriptor);
}

static void end(void) {
  int number = 0;
  if (strcmp(way, "wrong") == 0) MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  if (strcmp(way, "exit") == 0) exit(0);
  MPI_Abort(MPI_COMM_WORLD, 5);
}
static void end_by_handler(MPI_Comm* in, int* code, ...) {
  (void)in;
  (void)code;
  end();
}
static void end_by_signal(int number) {
  (void)number;
  end();
}
/* A stream of the program's own, whose function aborts again. */
static ssize_t write_and_end(void* unused, const char* text, size_t bytes) {
  (void)unused;
  (void)text;
  MPI_Abort(MPI_COMM_WORLD, 5);
  return (ssize_t)bytes;
}

int main(int argc, char** argv) {
  int level, ends[2], number = 0;
  wanted = argc > 1 ? argv[1] : "";
  way = argc > 2 ? argv[2] : "";
  if (is("atexit")) atexit(end);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  printf("printed before");
  if (is("stdin")) start(read_stdin, 1);
  if (is("file")) {
    if (pipe(ends) != 0) return 3;
    quiet = fdopen(ends[0], "r");
    start(read_file, 1);
  }
  if (is("held")) start(hold_both, 1);
  if (is("own")) flockfile(stdout);
  if (is("threads")) start(abort_too, 8);
  if (is("pipe")) fill(STDOUT_FILENO);
  if (is("pipes")) {
    fill(STDOUT_FILENO);
    fill(STDERR_FILENO);
  }
  if (is("large")) { /* more than a pipe takes at once */
    static char buffer[1 << 20], text[1 << 19];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    fwrite(memset(text, 'x', sizeof text), 1, sizeof text, stdout);
  }
  if (is("closed")) {
    close(STDOUT_FILENO);
    fclose(stderr);
  }
  if (is("again")) {
    cookie_io_functions_t functions = {NULL, write_and_end, NULL, NULL};
    stdout = fopencookie(NULL, "w", functions);
    fputs("x", stdout);
  }
  if (is("handler")) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(end_by_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  }
  if (is("signal")) {
    signal(SIGALRM, end_by_signal);
    alarm(1);
    for (;;) free(malloc((size_t)(rand() % 100000)));
  }
  if (is("atexit")) return 0;
  end();
  return 0;
}
