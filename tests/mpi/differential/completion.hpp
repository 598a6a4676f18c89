// SPDX-License-Identifier: BSD-3-Clause
// All functions that complete requests, drawn by chance.
#pragma once

#include <mpi.h>

#include <vector>

#include "scene.hpp"

namespace differential {

/// Completes all of them by functions that this rank draws, in any order that they allow. `statuses[i]` is that of
/// request i. Expects that requests are null afterwards, unless they are persistent.
void complete_all(scene& here, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses,
                  bool persistent = false);
/// Completes one.
void complete(scene& here, MPI_Request& request, MPI_Status& status, bool persistent = false);

}  // namespace differential
