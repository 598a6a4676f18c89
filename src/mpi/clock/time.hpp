// SPDX-License-Identifier: BSD-3-Clause
// MPI_Wtime and MPI_Wtick.
#pragma once

namespace weft::mpi {

/// The kernel's monotonic time, read from the processor's counter where the kernel does so. **Threads**: any; it never
/// goes backwards, also not for a thread that has synchronized with another one. **Blocking**: never.
[[nodiscard]] double time_in_seconds() noexcept;

/// The tick of what is read: the counter's, or the kernel's nanosecond.
[[nodiscard]] double tick_in_seconds() noexcept;

}  // namespace weft::mpi
