// Collectives whose start Weft has refused, as some thousand of their group were not complete. MPI has no such bound,
// and no start waits for other ranks: they are started by progress, in their order, when there is room.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/rank_state.hpp"
#include "mpi/objects/request.hpp"
#include "weft/device.hpp"
#include "weft/error.hpp"
#include "weft/hook.hpp"

namespace weft::mpi {

/// Of a communicator. A collective that begins while some wait is started behind them.
class late_starts {
 public:
  explicit late_starts(weft::device& through) noexcept : device_{through} {}

  /// Starts the operation of `one` by `start`, or keeps it for later. **Threads**: one at a time, as all starts of a
  /// communicator's collectives. **Errors**: those of `start`, but for `backlog_full`; std::bad_alloc.
  void start_or_add(request& one, std::function<void()> start);
  /// Makes progress until all are started. **Threads**: as `start_or_add`.
  void wait_until_started();

 private:
  struct late_start {
    request* of;
    std::function<void()> start;
  };
  [[nodiscard]] hook_answer start_all() noexcept;
  [[nodiscard]] static bool try_start(const late_start& which);

  weft::device& device_;
  std::mutex mutex_;  // of the queue and of starts in the group
  std::deque<late_start> queue_;
  bool has_hook_ = false;
  std::mutex hook_mutex_;  // of the hook, whose function does not take it
  hook hook_;
};

/// Starts a collective of `in`, whose request is `one`. `start` is copied if it is called later. **Errors**: those of
/// `start`, but for `backlog_full`; std::bad_alloc.
template <class Start>
void start_in_order(rank_state& rank, communicator& in, request& one, const Start& start) {
  if (in.late == nullptr) [[likely]] {
    try {
      return start();
    } catch (const weft::error& refused) {
      if (refused.code() != errc::backlog_full) throw;
    }
    in.late = std::make_shared<late_starts>(rank.device);
  }
  in.late->start_or_add(one, start);
}

/// Before a collective that is waited for.
inline void wait_for_late_starts(communicator& in) {
  if (in.late != nullptr) [[unlikely]]
    in.late->wait_until_started();
}

}  // namespace weft::mpi
