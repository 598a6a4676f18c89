// Why a collective has failed that could not exchange messages with a member.
#pragma once

namespace weft::mpi {

struct communicator;
struct rank_state;

/// Returns the class: MPI_ERR_PROC_ABORTED if the rank of a member has ended. If all live on, messages had other sizes
/// than this rank or another one expects: MPI_ERR_TRUNCATE.
[[nodiscard]] int class_of_failed_member(rank_state& rank, communicator& in);

}  // namespace weft::mpi
