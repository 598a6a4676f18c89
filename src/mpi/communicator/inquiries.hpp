// SPDX-License-Identifier: BSD-3-Clause
// What programs ask of communicators, their names, and their end.
#pragma once

#include "mpi.h"

namespace weft::mpi {

struct communicator;
struct rank_state;

/// MPI_Comm_free. Requests in it complete as if it were there.
int free_communicator(rank_state& rank, MPI_Comm* handle) noexcept;

int get_group(const communicator& comm, MPI_Group* out) noexcept;
int get_remote_group(const communicator& comm, MPI_Group* out) noexcept;
int get_remote_size(const communicator& comm, int* out) noexcept;
[[nodiscard]] bool is_inter(const communicator& comm) noexcept;
int compare_communicators(const communicator& a, const communicator& b, int* out) noexcept;

int set_name(communicator& comm, const char* name) noexcept;
/// `name` has MPI_MAX_OBJECT_NAME bytes.
/// MPI_COMM_NULL has a name, too (MPI 5.0, 7.8).
int get_name(MPI_Comm handle, const communicator* comm, char* name, int* length) noexcept;

}  // namespace weft::mpi
