// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>
#include <utility>

#include "mpi/communicator/hardware.hpp"
#include "mpi/environment/environment.hpp"
#include "mpi/error/error.hpp"
#include "mpi/info/info.hpp"

namespace weft::mpi {

int get_hardware_info(MPI_Info* made) noexcept {
  return guarded([&] {
    auto out = std::make_unique<info>();
    for (const std::string_view name : names_of_hardware) {
      const bool is_restricted = own_hardware(*hardware_of(name)).has_value();
      out->set("hwloc://" + std::string{name}, is_restricted ? "true" : "false");
    }
    *made = new_handle(std::move(out));
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
