// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type.
#pragma once

#include "mpi.h"

namespace weft::mpi {

struct communicator;
class info;
struct rank_state;

/// Members that share memory, or a resource of the kind that `given` names. MPI_COMM_TYPE_HW_UNGUIDED: `given` gets the
/// kind that was found. Null: no info.
int split_by_type(rank_state& rank, communicator& parent, int type, int key, info* given, MPI_Comm* out) noexcept;

}  // namespace weft::mpi
