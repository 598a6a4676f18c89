// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/extensions/hooks.hpp"

#include <string>

#include "mpi/error/error.hpp"
#include "mpi/message/tests.hpp"
#include "mpi/rank/progress.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/detail/fiber_words.hpp"

namespace weft::mpi {
namespace {

void describe_hooks(const void* hooks, std::string& text) {
  const std::size_t open = static_cast<const async_hooks*>(hooks)->open();
  text += " for the end of " + std::to_string(open) + (open == 1 ? " hook" : " hooks") + " of MPIX_Async_start";
}

}  // namespace

int start_hook(rank_state& rank, MPIX_Async_poll_function* poll, void* state) noexcept {
  return guarded([&] {
    rank.vcis.hooks().start({poll, state});
    return MPI_SUCCESS;
  });
}

int spawn_hook(rank_state& rank, MPIX_Async_poll_function* poll, void* state) noexcept {
  if (!weft::detail::is_in_callback()) return fail(MPI_ERR_OTHER, "it is called outside of a poll function");
  return start_hook(rank, poll, state);  // a device runs hooks that a hook adds from its next call of progress on
}

void* state_of(MPIX_Async_thing thing) noexcept {
  return thing != nullptr ? reinterpret_cast<const async_hook*>(thing)->state : nullptr;
}

int make_progress(rank_state& rank) noexcept {
  if (weft::detail::is_in_callback()) return MPI_SUCCESS;
  const bool has_moved = progress_on_all(rank, rank.device);
  end_test(rank, false, has_moved);
  return MPI_SUCCESS;
}

int start_progress_threads(rank_state& rank) noexcept {
  if (rank.session.thread_level != MPI_THREAD_MULTIPLE && !rank.session.vcis.have_threads)
    return fail(MPI_ERR_OTHER,
                "the thread level is below MPI_THREAD_MULTIPLE, and WEFT_MPI_PROGRESS_THREAD is not set");
  return guarded([&] {
    return rank.vcis.try_start_threads() ? MPI_SUCCESS : fail(MPI_ERR_OTHER, "a progress thread runs already");
  });
}

int stop_progress_threads(rank_state& rank) noexcept {
  return rank.vcis.stop_threads() ? MPI_SUCCESS : fail(MPI_ERR_OTHER, "no progress thread runs");
}

int end_hooks(rank_state& rank) noexcept {
  if (rank.vcis.hooks().open() == 0) return MPI_SUCCESS;
  return guarded([&] {
    wait_on_all(rank, {"MPI_Finalize", &describe_hooks, &rank.vcis.hooks()}, rank.device,
                [&] { return rank.vcis.hooks().open() == 0; });
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
