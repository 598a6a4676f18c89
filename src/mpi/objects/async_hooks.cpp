// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/async_hooks.hpp"

#include "mpi.h"
#include "mpi/error/job_end.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

hook_answer async_hook::run() noexcept {
  int answer = MPIX_ASYNC_NOPROGRESS;
  try {
    answer = poll_(reinterpret_cast<MPIX_Async_thing>(this));
  } catch (...) {
    end_job(MPI_ERR_INTERN, "MPIX_Async_start: a poll function has thrown an exception, which no caller can catch");
  }
  if (answer != MPIX_ASYNC_DONE) return hook_answer::no_progress;
  owner_->end();
  return hook_answer::done;
}

void async_hooks::start(weft::device& device, MPIX_Async_poll_function* poll, void* state) {
  // relaxed: the caller's thread, or one that it orders, asks for the number.
  open_.fetch_add(1, std::memory_order_relaxed);
  try {
    device.add_hook([made = async_hook{*this, poll, state}]() mutable noexcept { return made.run(); }).detach();
  } catch (...) {
    end();
    throw;
  }
}

}  // namespace weft::mpi
