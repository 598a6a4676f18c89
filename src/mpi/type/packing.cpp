// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/type/packing.hpp"

#include <string_view>

#include "mpi/objects/error.hpp"

namespace weft::mpi {

int is_external32(const char* datarep) noexcept {
  if (std::string_view{datarep} == "external32") return MPI_SUCCESS;
  return fail(MPI_ERR_UNSUPPORTED_DATAREP, "the only data representation of packed data is \"external32\"");
}

}  // namespace weft::mpi
