/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran's default kinds, with the bytes of logicals, integers, reals and double precision numbers: argv[1] to
 * argv[4]. Without arguments they have no size. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed, rank, size;
#define CHECK(condition) \
  if (!(condition)) failed = 1, printf("rank %d, line %d: %s\n", rank, __LINE__, #condition)

struct sized {
  MPI_Datatype type;
  int bytes;
};

static void give_sizes(char** bytes) {
  static const char* const keys[] = {"mpi_logical_size", "mpi_integer_size", "mpi_real_size",
                                     "mpi_double_precision_size"};
  MPI_Info info;
  int i;
  MPI_Info_create(&info);
  for (i = 0; i < 4; ++i) MPI_Info_set(info, keys[i], bytes[i]);
  CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
  MPI_Info_free(&info);
}

/* Sizes, a message, and pairs of them in a derived type. */
static void check_type(struct sized of) {
  unsigned char sent[256], received[256];
  int bytes = 0, next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Count large = 0, lower = -1, extent = 0;
  MPI_Datatype twice;
  CHECK(MPI_Type_size(of.type, &bytes) == MPI_SUCCESS && bytes == of.bytes);
  CHECK(MPI_Type_size_c(of.type, &large) == MPI_SUCCESS && large == of.bytes);
  CHECK(MPI_Type_size_x(of.type, &large) == MPI_SUCCESS && large == of.bytes);
  if (of.bytes == MPI_UNDEFINED) {
    CHECK(MPI_Type_get_extent_c(of.type, &lower, &extent) == MPI_ERR_TYPE);
    CHECK(MPI_Bcast(sent, 1, of.type, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    CHECK(MPI_Type_contiguous(2, of.type, &twice) == MPI_ERR_TYPE);
    return;
  }
  CHECK(MPI_Type_get_extent_c(of.type, &lower, &extent) == MPI_SUCCESS && lower == 0 && extent == of.bytes);
  CHECK(MPI_Type_contiguous(2, of.type, &twice) == MPI_SUCCESS && MPI_Type_commit(&twice) == MPI_SUCCESS);
  memset(sent, rank + 1, sizeof sent);
  memset(received, 99, sizeof received);
  CHECK(MPI_Sendrecv(sent, 1, twice, next, 4, received, 2, of.type, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  CHECK(received[0] == before + 1 && received[2 * of.bytes - 1] == before + 1 && received[2 * of.bytes] == 99);
  MPI_Type_free(&twice);
}

/* The sum of 1, 2, ... over all ranks, in numbers of `bytes`. */
static void check_sum(MPI_Datatype type, int bytes, int is_real) {
  union {
    int small;
    long long large;
    float real;
    double twice;
  } given, sum;
  const int expected = size * (size + 1) / 2;
  if (bytes > 8) return;
  memset(&given, 0, sizeof given);
  if (is_real && bytes == 4) given.real = (float)rank + 1;
  if (is_real && bytes == 8) given.twice = rank + 1;
  if (!is_real && bytes == 4) given.small = rank + 1;
  if (!is_real && bytes == 8) given.large = rank + 1;
  CHECK(MPI_Allreduce(&given, &sum, 1, type, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  if (is_real) CHECK((bytes == 4 ? sum.real : sum.twice) == expected);
  if (!is_real) CHECK((bytes == 4 ? sum.small : sum.large) == expected);
}

/* The largest value is at the last rank. */
static void check_pair(MPI_Datatype type, int bytes, int is_real) {
  double reals[2], largest[2];
  float small_reals[2], small_largest[2];
  long long numbers[2], best[2];
  int small[2], small_best[2];
  if (bytes > 8) return;
  reals[0] = small_reals[0] = rank, reals[1] = small_reals[1] = (float)(10 + rank);
  numbers[0] = small[0] = rank, numbers[1] = small[1] = 10 + rank;
  if (is_real && bytes == 8) {
    CHECK(MPI_Allreduce(reals, largest, 1, type, MPI_MAXLOC, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(largest[0] == size - 1 && largest[1] == 9 + size);
  } else if (is_real) {
    CHECK(MPI_Allreduce(small_reals, small_largest, 1, type, MPI_MAXLOC, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(small_largest[0] == (float)(size - 1) && small_largest[1] == (float)(9 + size));
  } else if (bytes == 8) {
    CHECK(MPI_Allreduce(numbers, best, 1, type, MPI_MAXLOC, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(best[0] == size - 1 && best[1] == 9 + size);
  } else {
    CHECK(MPI_Allreduce(small, small_best, 1, type, MPI_MAXLOC, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(small_best[0] == size - 1 && small_best[1] == 9 + size);
  }
  CHECK(MPI_Allreduce(numbers, best, 1, type, MPI_SUM, MPI_COMM_WORLD) == MPI_ERR_OP);
}

static void check_complex(int bytes) {
  float small[2], small_sum[2];
  double given[2], sum[2];
  small[0] = (float)(given[0] = 1), small[1] = (float)(given[1] = -2);
  if (bytes == 4) {
    CHECK(MPI_Allreduce(small, small_sum, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(small_sum[0] == (float)size && small_sum[1] == -2 * (float)size);
  } else {
    CHECK(MPI_Allreduce(given, sum, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(sum[0] == size && sum[1] == -2 * size);
  }
}

int main(int argc, char** argv) {
  const int is_sized = argc > 4;
  int logical = 0, integer = 0, real = 0, twice = 0;
  size_t i;
  if (is_sized) {
    give_sizes(argv + 1);
    logical = atoi(argv[1]), integer = atoi(argv[2]), real = atoi(argv[3]), twice = atoi(argv[4]);
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  {
    const struct sized types[] = {
        {MPI_LOGICAL, logical},      {MPI_INTEGER, integer},        {MPI_REAL, real},
        {MPI_COMPLEX, 2 * real},     {MPI_DOUBLE_PRECISION, twice}, {MPI_DOUBLE_COMPLEX, 2 * twice},
        {MPI_CHARACTER, 1},          {MPI_2REAL, 2 * real},         {MPI_2DOUBLE_PRECISION, 2 * twice},
        {MPI_2INTEGER, 2 * integer},
    };
    for (i = 0; i < sizeof types / sizeof types[0]; ++i) {
      struct sized one = types[i];
      if (!is_sized) one.bytes = MPI_UNDEFINED;
      check_type(one);
    }
  }
  if (is_sized) {
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    check_sum(MPI_INTEGER, integer, 0);
    check_sum(MPI_REAL, real, 1);
    check_sum(MPI_DOUBLE_PRECISION, twice, 1);
    check_pair(MPI_2INTEGER, integer, 0);
    check_pair(MPI_2REAL, real, 1);
    check_pair(MPI_2DOUBLE_PRECISION, twice, 1);
    check_complex(real);
    CHECK(MPI_Allreduce(&logical, &integer, 1, MPI_CHARACTER, MPI_SUM, MPI_COMM_WORLD) == MPI_ERR_OP);
    CHECK(MPI_Type_get_value_index(MPI_INTEGER, MPI_INTEGER, &pair) == MPI_SUCCESS && pair == MPI_2INTEGER);
    if (logical == 4) {
      int yes = rank == 0, any = 0;
      CHECK(MPI_Allreduce(&yes, &any, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD) == MPI_SUCCESS && any == 1);
    }
  }
  MPI_Finalize();
  return failed;
}
