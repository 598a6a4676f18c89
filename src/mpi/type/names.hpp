// Names of datatypes.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"

namespace weft::mpi {

/// Of a rank. **Threads**: any.
class type_names {
 public:
  int set(const datatype& of, const char* name) noexcept;
  int get(const datatype& of, char* name, int* length) noexcept;

 private:
  std::mutex mutex_;  // of names of derived types, too
  // Predefined types are of all ranks of a process; so the names that a rank gives them are here.
  std::map<const datatype*, std::string> of_predefined_;
};

}  // namespace weft::mpi
