// SPDX-License-Identifier: BSD-3-Clause
// Numbers that functions of MPI take as right on a communicator of one rank, and numbers that are certainly wrong.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <string_view>

#include "mpi.h"

namespace weft::test {

/// The first row that fits is for a parameter: `function` is empty or how its function's name begins.
struct numbers_of_argument {
  std::string_view function;
  std::string_view name;
  std::int64_t right;
  std::array<std::int64_t, 5> wrong;  // zeros at the end stand for nothing, unless `zero_is_wrong`
  bool zero_is_wrong = false;
  int error_class = MPI_ERR_ARG;
};

inline constexpr numbers_of_argument scalar_arguments[] = {
    {"", "dest", MPI_PROC_NULL, {1, -1, -4, INT_MAX, INT_MIN}, false, MPI_ERR_RANK},
    {"MPI_Status_set", "source", 0, {}},
    {"", "source", MPI_PROC_NULL, {1, -4, INT_MAX, INT_MIN}, false, MPI_ERR_RANK},
    {"", "root", 0, {1, -1, MPI_PROC_NULL, MPI_ROOT, INT_MAX}, false, MPI_ERR_ROOT},
    {"", "sendtag", 0, {-1, MPI_ANY_TAG, INT_MIN}, false, MPI_ERR_TAG},
    {"", "recvtag", 0, {-1, -3, INT_MIN}, false, MPI_ERR_TAG},
    {"MPI_Status_set", "tag", 0, {}},
    {"", "tag", 0, {-1, -3, INT_MIN}, false, MPI_ERR_TAG},
    {"MPI_Cart_coords", "rank", 0, {1, -1, INT_MAX}, false, MPI_ERR_RANK},
    {"MPI_Type_create_darray", "rank", 0, {1, -1, INT_MAX}},
    {"MPI_Type_create_darray", "size", 1, {-1, INT_MIN}, true},
    {"MPI_Type_match_size", "size", 4, {3, -1}, true},
    {"", "size", 512, {-1, INT_MIN}},
    {"", "insize", 64, {-1, 1, INT_MIN}, true},
    {"", "outsize", 64, {-1, 1, INT_MIN}, true},
    {"MPI_Cart", "ndims", 1, {-1, INT_MIN}},
    {"MPI_Dims_create", "ndims", 1, {-1, INT_MIN}},
    {"", "ndims", 1, {-1, INT_MIN}, true},
    {"", "nnodes", 1, {-1, INT_MIN}, true},
    {"MPI_Cart", "maxdims", 1, {-1}, true},
    {"", "order", MPI_ORDER_C, {1, -1}, true},
    {"", "typeclass", MPI_TYPECLASS_INTEGER, {1, -1}, true},
    {"", "p", 6, {-5, 1000}},
    {"", "r", 30, {-5, 10000}},
    {"", "blocklength", 1, {-1, INT_MIN}},
    {"", "max_integers", 16, {-1}, true},
    {"", "max_datatypes", 16, {-1}, true},
    {"", "max_addresses", 16, {-1}},
    {"", "max_large_counts", 16, {-1}},
    {"MPI_Info_get_nthkey", "n", 0, {-1, 5, INT_MAX}},
    {"", "n", 1, {-1, INT_MIN}},
    {"", "logical_size", 4, {-1, 3}, true},
    {"", "color", 0, {-1, INT_MIN}},
    {"", "split_type", MPI_COMM_TYPE_SHARED, {12345, -1}},
    {"MPI_Cart_shift", "direction", 0, {-1, 1, INT_MAX}},
    {"", "valuelen", 16, {-1}},
    {"MPI_Error_", "errorcode", MPI_ERR_RANK, {-1, INT_MAX, INT_MIN}},
    {"", "errorcode", MPI_ERR_RANK, {}},
    {"", "stride", 2, {}},
    {"", "extent", 64, {}},
    {"", "disp", 1, {}},
};

/// Of arrays and of numbers that a pointer names; all elements are equal.
struct element_of_array {
  std::string_view function;
  std::string_view name;
  std::int64_t right;
};

inline constexpr element_of_array array_arguments[] = {
    {"", "recvcounts", 1},
    {"", "sendcounts", 1},
    {"", "array_of_blocklengths", 1},
    {"", "array_of_gsizes", 4},
    {"", "array_of_sizes", 4},
    {"", "array_of_subsizes", 2},
    {"", "array_of_distribs", MPI_DISTRIBUTE_BLOCK},
    {"", "array_of_dargs", MPI_DISTRIBUTE_DFLT_DARG},
    {"", "array_of_psizes", 1},
    {"MPI_Dims_create", "dims", 0},
    {"MPI_Cart", "dims", 1},
    {"", "remain_dims", 1},
    {"", "buflen", 16},
};

/// Arrays and numbers in memory that are wrong if they are -1.
inline constexpr std::string_view never_negative[] = {
    "recvcounts",
    "sendcounts",
    "array_of_blocklengths",
    "array_of_gsizes",
    "array_of_sizes",
    "array_of_subsizes",
    "array_of_starts",
    "array_of_distribs",
    "array_of_dargs",
    "array_of_psizes",
    "ranks",
    "ranks1",
    "ranges",
    "dims",
    "coords",
    "position",
};

}  // namespace weft::test
