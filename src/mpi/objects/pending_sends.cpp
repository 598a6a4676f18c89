// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/pending_sends.hpp"

#include "mpi/error/error.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/post_send.hpp"

namespace weft::mpi {

bool pending_sends::add(request& req, bool always) {
  bool needs_hook = false;
  {
    const std::lock_guard locked{mutex_};
    const auto found = queues_.find(req.send.peer);
    if (found == queues_.end() && !always) return false;
    queue& sends = found != queues_.end() ? found->second : queues_[req.send.peer];
    req.next = nullptr;
    (sends.last != nullptr ? sends.last->next : sends.first) = &req;
    sends.last = &req;
    // [locked]
    count_.fetch_add(1, std::memory_order_relaxed);
    needs_hook = !std::exchange(has_hook_, true);
  }
  if (needs_hook) {
    const std::lock_guard locked{hook_mutex_};
    hook_ = device_.add_hook([this] { return post_all(); });
  }
  return true;
}

hook_answer pending_sends::post_all() noexcept {
  const std::lock_guard locked{mutex_};
  bool has_posted = false;
  for (auto each = queues_.begin(); each != queues_.end();) {
    while (each->second.first != nullptr && post_first(each->second)) has_posted = true;
    each = each->second.first == nullptr ? queues_.erase(each) : std::next(each);
  }
  if (!queues_.empty()) return has_posted ? hook_answer::progress : hook_answer::no_progress;
  has_hook_ = false;
  return hook_answer::done;
}

bool pending_sends::post_first(queue& sends) noexcept {
  request& req = *sends.first;
  request* const next = req.next;  // read first: a request that is posted may end at any time
  bool is_posted = true;
  const int error = guarded([&] {
    const status answer = post_send(device_, signals_, req);
    is_posted = !answer.is_retry();
    if (answer.is_done()) req.finish(outcome{});
    return MPI_SUCCESS;
  });
  if (error != MPI_SUCCESS) {
    req.finish(outcome{.error = error});
    signals_.count_failure();
  }
  if (!is_posted) return false;
  signals_.wake();  // if it is complete: another thread than the one that runs this hook may sleep until it is
  sends.first = next;
  if (next == nullptr) sends.last = nullptr;
  // [pending.posted] release -> [pending.empty]: the number of the message in its engine.
  count_.fetch_sub(1, std::memory_order_release);
  return true;
}

}  // namespace weft::mpi
