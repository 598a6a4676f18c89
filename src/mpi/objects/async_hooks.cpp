// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/async_hooks.hpp"

#include "mpi.h"
#include "mpi/error/job_end.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

void async_hooks::start(const async_hook& made) {
  const std::scoped_lock locked{mutex_};
  added_.push_back(made);
  if (!has_hook_) {
    try {
      device_.add_hook([this]() noexcept { return run(); }).detach();
    } catch (...) {
      added_.pop_back();
      throw;
    }
    has_hook_ = true;
  }
  // relaxed: the thread that asks has started the hook, or another thread's order is the program's.
  open_.fetch_add(1, std::memory_order_relaxed);
  // [locked] A call of progress that does not see it yet leaves the hook to the next one.
  has_added_.store(true, std::memory_order_relaxed);
}

hook_answer async_hooks::run() noexcept {
  // [hint] `take_added` takes the lock.
  if (has_added_.load(std::memory_order_relaxed)) [[unlikely]]
    take_added();
  const std::size_t ended = poll_all();
  if (ended == 0) [[likely]]
    return hook_answer::no_progress;
  const bool is_over = running_.empty() && try_end();
  // [async_hooks.end] release -> [async_hooks.open]: what the poll functions have done. MPI_Finalize may destroy this
  // object now.
  open_.fetch_sub(ended, std::memory_order_release);
  return is_over ? hook_answer::done : hook_answer::progress;
}

void async_hooks::take_added() noexcept {
  const std::scoped_lock locked{mutex_};
  try {
    running_.insert(running_.end(), added_.begin(), added_.end());
  } catch (...) {
    return;  // no memory: the next call tries again
  }
  added_.clear();
  // [locked]
  has_added_.store(false, std::memory_order_relaxed);
}

std::size_t async_hooks::poll_all() noexcept {
  async_hook* const end = running_.data() + running_.size();
  async_hook* kept = running_.data();
  try {
    for (async_hook* each = kept; each != end; ++each) {
      if (each->poll(reinterpret_cast<MPIX_Async_thing>(each)) == MPIX_ASYNC_DONE) [[unlikely]]
        continue;
      if (kept != each) [[unlikely]]
        *kept = *each;
      ++kept;
    }
  } catch (...) {
    end_job(MPI_ERR_INTERN, "MPIX_Async_start: a poll function has thrown an exception, which no caller can catch");
  }
  const auto ended = static_cast<std::size_t>(end - kept);
  running_.resize(running_.size() - ended);
  return ended;
}

bool async_hooks::try_end() noexcept {
  const std::scoped_lock locked{mutex_};
  if (!added_.empty()) return false;
  has_hook_ = false;
  return true;
}

}  // namespace weft::mpi
