// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/session.hpp"

#include "mpi.h"
#include "weft/mpi.hpp"
#include "weft/runtime_options.hpp"

namespace weft::mpi {

session start_session(weft::runtime* given, int thread_level) {
  const vci_options vcis = choose_vcis(thread_level);
  session out{.runtime = {}, .thread_level = thread_level, .vcis = vcis};
  if (given != nullptr) {
    out.runtime = {given, [](weft::runtime*) noexcept {}};
  } else {
    out.runtime = std::make_shared<weft::runtime>(weft::runtime_options{
        .default_device = {.shared = thread_level == MPI_THREAD_MULTIPLE || vcis.have_threads, .policy = vcis.policy}});
  }
  if (weft::detail::checks_calls(*out.runtime)) out.checks = std::make_unique<call_checks>(thread_level);
  return out;
}

}  // namespace weft::mpi
