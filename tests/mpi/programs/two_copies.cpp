// SPDX-License-Identifier: BSD-3-Clause
// Has a copy of Weft of its own, as it is linked with the archive, beside that of the MPI library. It is not to start.
#include <mpi.h>

#include <weft/error.hpp>

int main(int argc, char** argv) {
  return MPI_Init(&argc, &argv) + (weft::name_of(weft::errc::none)[0] == '\0' ? 1 : 0);
}
