// SPDX-License-Identifier: BSD-3-Clause
// Checks of info objects, their keys and values, and of error handlers.
#pragma once

#include <cstring>

#include <type_traits>

#include "mpi.h"
#include "mpi/datatype/error_class.hpp"
#include "mpi/error/error.hpp"
#include "mpi/error/error_handler.hpp"
#include "mpi/info/info.hpp"

namespace weft::mpi::check {

inline error_class info_object(const info* found) noexcept {
  return found != nullptr ? error_class::success : error_class{fail(MPI_ERR_INFO, "it is no info object")};
}

inline error_class info_or_null(MPI_Info handle, const info* found) noexcept {
  return handle == MPI_INFO_NULL ? error_class::success : check::info_object(found);
}

inline error_class key(const char* key) noexcept {
  if (key == nullptr) return error_class{fail(MPI_ERR_INFO_KEY, "a null pointer for a key")};
  const std::size_t length = std::strlen(key);
  if (length > 0 && length < MPI_MAX_INFO_KEY) return error_class::success;
  return error_class{
      fail(MPI_ERR_INFO_KEY, "a key of %zu characters; 1 to %d are allowed", length, MPI_MAX_INFO_KEY - 1)};
}

inline error_class value(const char* value) noexcept {
  if (value == nullptr) return error_class{fail(MPI_ERR_INFO_VALUE, "a null pointer for a value")};
  const std::size_t length = std::strlen(value);
  if (length < MPI_MAX_INFO_VAL) return error_class::success;
  return error_class{
      fail(MPI_ERR_INFO_VALUE, "a value of %zu characters; up to %d are allowed", length, MPI_MAX_INFO_VAL - 1)};
}

template <class Function>
error_class errhandler(MPI_Errhandler handle) noexcept {
  if (is_error_handler_with<Function>(handle)) [[likely]]
    return error_class::success;
  return error_class{fail(MPI_ERR_ERRHANDLER, "it is no error handler of such objects")};
}

template <class Function>
requires std::is_function_v<Function> error_class function(Function* function)
noexcept {
  return function != nullptr ? error_class::success : error_class{fail(MPI_ERR_ARG, "a null pointer for a function")};
}

}  // namespace weft::mpi::check
