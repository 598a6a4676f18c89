// SPDX-License-Identifier: BSD-3-Clause
// The operations that a program has not completed when it calls MPI_Finalize.
#pragma once

namespace weft::mpi {

struct rank_state;

/// Names them on standard error, and ends all operations of the rank: receives are cancelled, collectives abandoned,
/// messages that a probe has matched dropped. Sends, also buffered ones and those whose requests were freed, are waited
/// for until their receiver has received them or is here, too: a rank that is here drops messages that no receive
/// matches. So a rank leaves once no other one needs it.
///
/// **Blocking**: until all ranks are here and their operations have ended. Returns an error class:
/// MPI_ERR_PROC_ABORTED if a rank has died; then nothing of this rank is under way with it.
[[nodiscard]] int end_operations(rank_state& rank) noexcept;

}  // namespace weft::mpi
