// SPDX-License-Identifier: BSD-3-Clause
// Hooks of the program, and progress without a request (zhou2024, 3.2 and 3.3). Arguments are checked by the callers,
// the entry points: a stream is the default one, or one of the rank's.
#pragma once

#include "mpix.h"

namespace weft::mpi {

struct rank_state;

/// MPIX_Async_start.
int start_hook(rank_state& rank, MPIX_Async_poll_function* poll, void* state, MPIX_Stream handle) noexcept;
/// MPIX_Async_spawn: the new hook begins after the poll function that runs now has returned.
int spawn_hook(rank_state& rank, MPIX_Async_poll_function* poll, void* state, MPIX_Stream handle) noexcept;
/// MPIX_Async_get_state.
[[nodiscard]] void* state_of(MPIX_Async_thing thing) noexcept;

/// MPIX_Stream_progress. **Threads**: any that may call MPI; of a stream, one at a time. Inside a hook it does nothing.
int make_progress(rank_state& rank, MPIX_Stream handle) noexcept;

/// MPIX_Start_progress_thread, MPIX_Stop_progress_thread: of the default stream, as WEFT_MPI_PROGRESS_THREAD=1, from
/// now on and until now; of another one, a thread that shares it. Returns an error class. **Threads**: of a stream, its
/// own. **Blocking**: the second, until the threads have ended.
int start_progress_threads(rank_state& rank, MPIX_Stream handle) noexcept;
int stop_progress_threads(rank_state& rank, MPIX_Stream handle) noexcept;

/// MPI_Finalize: makes progress on all streams until all hooks have ended. Returns an error class.
int end_hooks(rank_state& rank) noexcept;

}  // namespace weft::mpi
