// SPDX-License-Identifier: BSD-3-Clause
// Names of datatypes.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"

namespace weft::mpi {

struct rank_state;

/// The names that a rank gives to types. **Threads**: any.
class type_names {
 public:
  int set(const datatype& type, const char* name) noexcept;
  int get(const datatype& type, char* name, int* length) noexcept;

 private:
  std::mutex mutex_;  // guards names of derived types, too
  // Predefined types are of all ranks of a process; so the names that a rank gives them are here.
  std::map<const datatype*, std::string> of_predefined_;
};

/// MPI_DATATYPE_NULL has a name, too. `type` is null if the handle is none.
int get_name(rank_state& rank, MPI_Datatype handle, const datatype* type, char* name, int* length) noexcept;

}  // namespace weft::mpi
