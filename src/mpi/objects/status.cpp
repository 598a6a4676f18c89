// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/status.hpp"

namespace weft::mpi {

// Five words of a status are the library's: the bytes are in two of them, and whether the operation was cancelled in a
// third.

void write_status(MPI_Status* to, const outcome& from) noexcept {
  if (to == MPI_STATUS_IGNORE) return;
  to->MPI_SOURCE = from.source;
  to->MPI_TAG = from.tag;
  to->MPI_internal[0] = static_cast<int>(from.bytes & 0xffff'ffff);
  to->MPI_internal[1] = static_cast<int>(from.bytes >> 32);
  to->MPI_internal[2] = from.is_cancelled ? 1 : 0;
}

int write_no_process(MPI_Status* to) noexcept {
  write_status(to, outcome_of_no_process);
  return MPI_SUCCESS;
}

outcome outcome_of(const MPI_Status& status) noexcept {
  return {.source = status.MPI_SOURCE,
          .tag = status.MPI_TAG,
          .is_cancelled = status.MPI_internal[2] != 0,
          .bytes = bytes_of(status)};
}

std::uint64_t bytes_of(const MPI_Status& status) noexcept {
  return static_cast<std::uint32_t>(status.MPI_internal[0]) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(status.MPI_internal[1])) << 32;
}

}  // namespace weft::mpi
