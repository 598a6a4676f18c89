// SPDX-License-Identifier: BSD-3-Clause
// Why a collective has failed that could not exchange messages with a member.
#pragma once

namespace weft::mpi {

struct communicator;
struct rank_state;
struct request;

/// Returns the class: MPI_ERR_PROC_ABORTED if the rank of a member has ended. If all live on, messages had other sizes
/// than this rank or another one expects: MPI_ERR_TRUNCATE. **Blocking**: a fifth of a second, in which it makes
/// progress.
[[nodiscard]] int class_of_failed_member(rank_state& rank, communicator& comm);

/// Corrects the class with which a collective's request has failed, where the rank of a member has ended: other members
/// then send messages of other sizes. **Blocking**: as `class_of_failed_member`.
void find_cause(rank_state& rank, request& failed) noexcept;

}  // namespace weft::mpi
