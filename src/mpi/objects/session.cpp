// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/session.hpp"

#include "mpi.h"
#include "weft/runtime_options.hpp"

namespace weft::mpi {

session start_session(weft::runtime* given, int thread_level) {
  const vci_options vcis = choose_vcis(thread_level);
  const auto keep = [](weft::runtime*) noexcept {};
  if (given != nullptr) return {.runtime = {given, keep}, .thread_level = thread_level, .vcis = vcis};
  return {.runtime = std::make_shared<weft::runtime>(weft::runtime_options{
              .default_device = {.shared = thread_level == MPI_THREAD_MULTIPLE || vcis.have_threads,
                                 .policy = vcis.policy}}),
          .thread_level = thread_level,
          .vcis = vcis};
}

}  // namespace weft::mpi
