// SPDX-License-Identifier: BSD-3-Clause
// How names of objects are given to programs.
#pragma once

#include <cstring>
#include <string_view>

#include "mpi.h"

namespace weft::mpi {

/// Copies a name, which is shorter than MPI_MAX_OBJECT_NAME, with its end.
inline int copy_name(std::string_view text, char* name, int* length) noexcept {
  std::memcpy(name, text.data(), text.size());
  name[text.size()] = '\0';
  *length = static_cast<int>(text.size());
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
