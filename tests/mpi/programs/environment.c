/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of a job: its info object at all times, and the ranks that share a machine. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void describe(int argc, char** argv, char* text, size_t bytes) {
  MPI_Info info;
  int keys, index;
  text[0] = 0;
  MPI_Info_create_env(argc, argv, &info);
  MPI_Info_get_nkeys(info, &keys);
  for (index = 0; index < keys; ++index) {
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
    int length = sizeof value, flag;
    MPI_Info_get_nthkey(info, index, key);
    MPI_Info_get_string(info, key, &length, value, &flag);
    snprintf(text + strlen(text), bytes - strlen(text), "%s=%s\n", key, value);
  }
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  static char before[10000], during[10000], after[10000], expected[40];
  MPI_Comm machine;
  int ranks, here;
  describe(argc, argv, before, sizeof before);
  MPI_Init(&argc, &argv);
  describe(argc, argv, during, sizeof during);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &here);
  MPI_Comm_free(&machine);
  MPI_Finalize();
  describe(argc, argv, after, sizeof after);
  snprintf(expected, sizeof expected, "maxprocs=%d\n", ranks);
  if (strcmp(before, during) != 0 || strcmp(before, after) != 0 || strstr(before, expected) == NULL)
    printf("%s\n%s\n%s\n", before, during, after);
  printf("%d of %d\n", here, ranks);
  return 0;
}
