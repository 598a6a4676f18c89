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

std::size_t open_hooks(const rank_state& rank) noexcept {
  return rank.vcis.hooks().open() + rank.vcis.streams().open_hooks();
}

void describe_hooks(const void* rank, std::string& text) {
  const std::size_t open = open_hooks(*static_cast<const rank_state*>(rank));
  text += " for the end of " + std::to_string(open) + (open == 1 ? " hook" : " hooks") + " of MPIX_Async_start";
}

async_hooks& hooks_of(rank_state& rank, MPIX_Stream handle) noexcept {
  stream* const found = find_stream(handle);
  return found != nullptr ? found->hooks : rank.vcis.hooks();
}

// The thread is in the stream.
[[gnu::noinline]] int make_progress_on(rank_state& rank, stream& own) noexcept {
  if (weft::detail::is_in_callback()) return MPI_SUCCESS;
  const bool has_moved = own.device.progress();
  end_test(rank, false, has_moved);
  return MPI_SUCCESS;
}

}  // namespace

int start_hook(rank_state& rank, MPIX_Async_poll_function* poll, void* state, MPIX_Stream handle) noexcept {
  return guarded([&] {
    hooks_of(rank, handle).start({poll, state});
    return MPI_SUCCESS;
  });
}

int spawn_hook(rank_state& rank, MPIX_Async_poll_function* poll, void* state, MPIX_Stream handle) noexcept {
  if (!weft::detail::is_in_callback()) return fail(MPI_ERR_OTHER, "it is called outside of a poll function");
  // A device runs hooks that a hook adds from its next call of progress on.
  return start_hook(rank, poll, state, handle);
}

void* state_of(MPIX_Async_thing thing) noexcept {
  return thing != nullptr ? reinterpret_cast<const async_hook*>(thing)->state : nullptr;
}

int make_progress(rank_state& rank, MPIX_Stream handle) noexcept {
  if (stream* const own = find_stream(handle); own != nullptr) return make_progress_on(rank, *own);
  if (weft::detail::is_in_callback()) return MPI_SUCCESS;
  const bool has_moved = progress_on_all(rank, rank.device);
  end_test(rank, false, has_moved);
  return MPI_SUCCESS;
}

int start_progress_threads(rank_state& rank, MPIX_Stream handle) noexcept {
  stream* const own = find_stream(handle);
  if (own == nullptr && rank.session.thread_level != MPI_THREAD_MULTIPLE && !rank.session.vcis.have_threads)
    return fail(MPI_ERR_OTHER,
                "the thread level is below MPI_THREAD_MULTIPLE, and WEFT_MPI_PROGRESS_THREAD is not set");
  return guarded([&] {
    const bool has_started = own != nullptr ? own->try_start_thread() : rank.vcis.try_start_threads();
    return has_started ? MPI_SUCCESS : fail(MPI_ERR_OTHER, "a progress thread runs already");
  });
}

int stop_progress_threads(rank_state& rank, MPIX_Stream handle) noexcept {
  stream* const own = find_stream(handle);
  const bool has_run = own != nullptr ? own->stop_thread() : rank.vcis.stop_threads();
  return has_run ? MPI_SUCCESS : fail(MPI_ERR_OTHER, "no progress thread runs");
}

int end_hooks(rank_state& rank) noexcept {
  if (open_hooks(rank) == 0) return MPI_SUCCESS;
  return guarded([&] {
    wait_at_end(rank, {"MPI_Finalize", &describe_hooks, &rank}, [&] { return open_hooks(rank) == 0; });
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
