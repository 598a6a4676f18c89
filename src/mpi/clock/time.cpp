// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/clock/time.hpp"

#include <cstdint>

#include "mpi/clock/counter.hpp"
#include "mpi/clock/counter_clock.hpp"

namespace weft::mpi {
namespace {

constinit basic_counter_clock<processor_counter> clock_of_process;

constexpr double part_in_seconds = 1e-9 / parts_of_ns;

}  // namespace

double time_in_seconds() noexcept { return static_cast<double>(clock_of_process.now()) * part_in_seconds; }

double tick_in_seconds() noexcept {
  const std::uint64_t rate = clock_of_process.rate();
  return rate != 0 ? static_cast<double>(rate) * 0x1p-32 * part_in_seconds : 1e-9;
}

}  // namespace weft::mpi
