#include "mpi/collective/late_starts.hpp"

#include <utility>

#include "mpi/objects/error.hpp"

namespace weft::mpi {

bool late_starts::try_start(const late_start& which) {
  try {
    which.start();
    return true;
  } catch (const weft::error& refused) {
    if (refused.code() != errc::backlog_full) throw;
    return false;
  }
}

void late_starts::start_or_add(request& one, std::function<void()> start) {
  {
    const std::lock_guard locked{mutex_};
    late_start added{&one, std::move(start)};
    if (queue_.empty() && try_start(added)) return;
    queue_.push_back(std::move(added));
    if (std::exchange(has_hook_, true)) return;
  }
  const std::lock_guard locked{hook_mutex_};
  hook_ = device_.add_hook([this] { return start_all(); });
}

hook_answer late_starts::start_all() noexcept {
  const std::lock_guard locked{mutex_};
  bool has_started = false;
  while (!queue_.empty()) {
    bool is_started = true;
    const int error = guarded([&] {
      is_started = try_start(queue_.front());
      return MPI_SUCCESS;
    });
    if (!is_started) return has_started ? hook_answer::progress : hook_answer::no_progress;
    if (error != MPI_SUCCESS) queue_.front().of->finish(outcome{.error = error});
    queue_.pop_front();
    has_started = true;
  }
  has_hook_ = false;
  return hook_answer::done;
}

void late_starts::wait_until_started() {
  for (;;) {
    {
      const std::lock_guard locked{mutex_};
      if (queue_.empty()) return;
    }
    device_.progress();
  }
}

}  // namespace weft::mpi
