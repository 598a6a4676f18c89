// SPDX-License-Identifier: BSD-3-Clause
#include "weft/mpi.hpp"

#include <fmt/format.h>

#include "base/config.hpp"
#include "base/processors.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft::detail {

mpi_settings read_mpi_settings() {
  const base::settings& all = base::process_settings();
  if (all.mpi_vcis.value_or(1) > all.devices_max) {
    throw error{errc::configuration,
                fmt::format("environment variable WEFT_MPI_VCIS={} contradicts WEFT_DEVICES_MAX={}: each is a device",
                            *all.mpi_vcis, all.devices_max)};
  }
  if (!all.mpi_global_progress && all.policy != progress_policy::local) {
    throw error{errc::configuration,
                fmt::format("environment variable WEFT_MPI_GLOBAL_PROGRESS=0 contradicts WEFT_PROGRESS_POLICY={}, by "
                            "which threads poll other devices",
                            name_of(all.policy))};
  }
  return {.vcis = all.mpi_vcis,
          .global_progress = all.mpi_global_progress,
          .progress_thread = all.mpi_progress_thread,
          .policy = all.policy,
          .devices_max = all.devices_max,
          .core_count = base::cores_within(base::processors_of_this_thread()).size()};
}

bool checks_calls(const weft::runtime& owner) noexcept { return owner.state_->job().settings().check; }

}  // namespace weft::detail
