// SPDX-License-Identifier: BSD-3-Clause
// Names of datatypes.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"

namespace weft::mpi {

/// The names that a rank gives to types. **Threads**: any.
class type_names {
 public:
  int set(const datatype& type, const char* name) noexcept;
  int get(const datatype& type, char* name, int* length) noexcept;

 private:
  std::mutex mutex_;  // guards names of derived types, too
  // Predefined types are of all ranks of a process; so the names that a rank gives them are here.
  std::map<const datatype*, std::string> predefined_;
};

}  // namespace weft::mpi
