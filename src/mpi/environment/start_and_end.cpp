// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "mpi/clock/time.hpp"
#include "mpi/environment/description.hpp"
#include "mpi/environment/environment.hpp"
#include "mpi/environment/open_operations.hpp"
#include "mpi/error/error.hpp"
#include "mpi/error/job_end.hpp"
#include "mpi/error/program_call.hpp"
#include "mpi/extensions/continuations.hpp"
#include "mpi/extensions/hooks.hpp"
#include "mpi/rank/attributes.hpp"
#include "mpi/rank/raise.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/detail/fiber_words.hpp"
#include "weft/runtime.hpp"

namespace weft::mpi {
namespace {

// This process, where it is a rank: a process that it forks is none. Ranks that are threads don't set it.
pid_t process_of_rank = 0;

// A rank that ends without MPI_Finalize would leave others waiting: the launcher ends the job for its exit code.
// Functions of `atexit` and destructors of the program, and of libraries that call MPI, run before this and may call
// it.
[[gnu::destructor]] void check_end_of_process() noexcept {
  rank_state* const rank = detail::process_slot.state;
  if (rank == nullptr || ::getpid() != process_of_rank) return;
  end_job(1, "rank %u exits before MPI_Finalize", rank->world.rank);
}

int start(rank_slot& slot, int level) {
  static_cast<void>(time_in_seconds());  // the clock begins, and knows the counter's rate by the end of MPI_Init
  weft::detail::set_mpi_library(describe);
  auto made = std::make_unique<rank_state>(start_session(slot.given, level));
  if (made->session.vcis.have_threads) made->vcis.try_start_threads();
  slot.state = made.release();
  if (slot.state->session.checks == nullptr) slot.unchecked_state = slot.state;
  if (&slot == &detail::process_slot) process_of_rank = ::getpid();
  return MPI_SUCCESS;
}

// A callback may set attributes, which are deleted in the next round; callbacks that set them again and again end
// nothing.
int delete_attributes_of_self(rank_state& rank) noexcept {
  constexpr int rounds_max = 100;
  int error = MPI_SUCCESS;
  for (int round = 0; round < rounds_max && error == MPI_SUCCESS && has_attributes(rank, rank.self); ++round)
    error = delete_attributes(rank, rank.self);
  return error;
}

// Raises an error of MPI_Finalize. The rank ends also where a handler throws.
int raise_at_end(rank_state& rank, communicator* comm, int error) noexcept {
  if (error == program_has_thrown) return error;
  return call_program([&] { return raise(rank, comm, error, "MPI_Finalize"); });
}

int end_rank(rank_slot& slot) noexcept {
  rank_state& rank = *slot.state;
  // First, while all of MPI may be called (MPI 5.0, 11.4.3). Where one fails, the others stay, and the rank ends.
  int result = delete_attributes_of_self(rank);
  if (result != MPI_SUCCESS) result = raise_at_end(rank, &rank.self, result);
  // Hooks first: they may wait for requests that are open.
  int error = end_hooks(rank);
  if (error == MPI_SUCCESS) error = end_continuations(rank);
  if (error == MPI_SUCCESS) error = end_operations(rank);
  if (error != MPI_SUCCESS) {
    drop_exception(result);
    result = raise_at_end(rank, nullptr, error);
  }
  // If a peer has died, all operations with it are complete, and nothing is left to wait for.
  if (error != MPI_SUCCESS && error != MPI_ERR_PROC_ABORTED) return result;
  slot.is_finalized = true;
  rank.vcis.stop_threads();
  rank.vcis.streams().stop_threads();
  slot.unchecked_state = nullptr;
  delete std::exchange(slot.state, nullptr);
  return result;
}

}  // namespace

int init(const char* function, int required, int* provided) {
  rank_slot& slot = current_slot();
  if (slot.state != nullptr)
    return raise(*slot.state, nullptr, fail(MPI_ERR_OTHER, "MPI is initialized already"), function);
  if (slot.is_finalized) return raise_outside(function, fail(MPI_ERR_OTHER, "it is called after MPI_Finalize"));
  const int level = std::clamp(required, MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
  const int error = guarded([&] { return start(slot, level); });
  if (error != MPI_SUCCESS) return raise_outside(function, error);
  if (provided != nullptr) *provided = level;
  return MPI_SUCCESS;
}

int finalize() {
  rank_slot& slot = current_slot();
  if (slot.state == nullptr) return raise_outside("MPI_Finalize", fail_outside());
  if (weft::detail::is_in_callback()) return raise(*slot.state, nullptr, fail_in_callback(), "MPI_Finalize");
  if (call_checks* const checks = slot.state->session.checks.get()) {
    if (const int error = checks->check_thread(); error != MPI_SUCCESS)
      return raise(*slot.state, nullptr, error, "MPI_Finalize");
  }
  const int result = end_rank(slot);
  if (result == program_has_thrown) throw_kept_exception();
  return result;
}

int is_initialized(int* flag) noexcept {
  const rank_slot& slot = current_slot();
  *flag = slot.state != nullptr || slot.is_finalized ? 1 : 0;
  return MPI_SUCCESS;
}

int is_finalized(int* flag) noexcept {
  *flag = current_slot().is_finalized ? 1 : 0;
  return MPI_SUCCESS;
}

int abort(rank_state& rank, const communicator* comm, int code) noexcept {
  end_job(code, "MPI_Abort of rank %u in %s: error code %d", rank.world.rank,
          comm != nullptr ? comm->name.c_str() : "no communicator", code);
}

int query_thread(const rank_state& rank, int* provided) noexcept {
  *provided = rank.session.thread_level;
  return MPI_SUCCESS;
}

int is_thread_main(const rank_state& rank, int* flag) noexcept {
  *flag = rank.session.main_thread == std::this_thread::get_id() ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
