// SPDX-License-Identifier: BSD-3-Clause
#include "weft/mpi.hpp"

#include <atomic>

#include "base/copies.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

std::atomic<detail::communicator_description> library{nullptr};  // MPI's own; null: there is none

[[noreturn]] void refuse(errc code, const char* why) {
  throw error{code, std::string{"describe_communicator: "} + why};
}

}  // namespace

mpi_communicator describe_communicator(MPI_ABI_Comm* communicator) {
  // [mpi.describe] acquire <- [mpi.tell]: the library has been loaded.
  const detail::communicator_description describe = library.load(std::memory_order_acquire);
  mpi_communicator out;
  const bool is_known = describe != nullptr && describe(communicator, out);
  if (out.runtime == nullptr) refuse(errc::invalid_state, "MPI is not initialized here, or is not Weft's MPI library");
  if (!is_known) refuse(errc::invalid_argument, "the handle is no communicator");
  return out;
}

void detail::set_mpi_library(communicator_description describe) {
  base::refuse_copies();
  // [mpi.tell] release -> [mpi.describe]: the library has been loaded.
  library.store(describe, std::memory_order_release);
}

}  // namespace weft
