// SPDX-License-Identifier: BSD-3-Clause
// Checks of info objects, their keys and values, and of error handlers.
#pragma once

#include <cstring>

#include <type_traits>

#include "mpi.h"
#include "mpi/info/info.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/error_handler.hpp"

namespace weft::mpi::check {

inline int is_info(const info* found) noexcept {
  return found != nullptr ? MPI_SUCCESS : fail(MPI_ERR_INFO, "it is no info object");
}

inline int is_info_or_null(MPI_Info handle, const info* found) noexcept {
  return handle == MPI_INFO_NULL ? MPI_SUCCESS : is_info(found);
}

inline int is_key(const char* key) noexcept {
  if (key == nullptr) return fail(MPI_ERR_INFO_KEY, "a null pointer for a key");
  const std::size_t length = std::strlen(key);
  if (length > 0 && length < MPI_MAX_INFO_KEY) return MPI_SUCCESS;
  return fail(MPI_ERR_INFO_KEY, "a key of %zu characters; 1 to %d are allowed", length, MPI_MAX_INFO_KEY - 1);
}

inline int is_value(const char* value) noexcept {
  if (value == nullptr) return fail(MPI_ERR_INFO_VALUE, "a null pointer for a value");
  const std::size_t length = std::strlen(value);
  if (length < MPI_MAX_INFO_VAL) return MPI_SUCCESS;
  return fail(MPI_ERR_INFO_VALUE, "a value of %zu characters; up to %d are allowed", length, MPI_MAX_INFO_VAL - 1);
}

template <class Function>
int is_error_handler(MPI_Errhandler handle) noexcept {
  if (is_error_handler_with<Function>(handle)) [[likely]]
    return MPI_SUCCESS;
  return fail(MPI_ERR_ERRHANDLER, "it is no error handler of such objects");
}

template <class Function>
requires std::is_function_v<Function>
int is_function(Function* function) noexcept {
  return function != nullptr ? MPI_SUCCESS : fail(MPI_ERR_ARG, "a null pointer for a function");
}

}  // namespace weft::mpi::check
