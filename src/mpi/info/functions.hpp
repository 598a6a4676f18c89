// SPDX-License-Identifier: BSD-3-Clause
// The functions of info objects. Keys and values are checked by the callers, the entry points.
#pragma once

#include "mpi.h"

namespace weft::mpi {

class info;

int create_info(MPI_Info* made) noexcept;
int duplicate_info(const info& object, MPI_Info* made) noexcept;
int free_info(MPI_Info* handle) noexcept;

int set_value(info& object, MPI_Info handle, const char* key, const char* value) noexcept;
int delete_value(info& object, MPI_Info handle, const char* key) noexcept;
/// The deprecated one, whose length is without the last character, which is 0.
int get_value(const info& object, const char* key, int length, char* value, int* flag) noexcept;
/// `length` is of the buffer, then of the value, each with the last character, which is 0.
int get_value(const info& object, const char* key, int* length, char* value, int* flag) noexcept;
int get_length(const info& object, const char* key, int* length, int* flag) noexcept;
int get_key(const info& object, int index, char* key) noexcept;

}  // namespace weft::mpi
