// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/continuation.hpp"

#include "mpi/error/job_end.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/pending_messages.hpp"
#include "mpi/objects/request_cache.hpp"
#include "weft/detail/fiber_words.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

void continuation_queue::push(continuation& ready) noexcept {
  weft::device& dev = *ready.device;  // before another thread may run it
  if (!ready_.push(ready)) [[likely]]
    return;
  try {
    dev.add_hook([this]() noexcept { return run(); }).detach();
  } catch (...) {
    end_job(MPI_ERR_NO_MEM, "MPIX_Continue: no memory to run a continuation");
  }
}

bool continuation_queue::run_ready() noexcept {
  if (!ready_.has_nodes()) return false;
  for (continuation* each = ready_.take_all(true); each != nullptr;) {
    continuation* const next = each->next;  // read first: it is released when it has run
    each->run(*each);
    each = next;
  }
  return true;
}

hook_answer continuation_queue::run() noexcept {
  constexpr unsigned quiet_calls_max = 1000;
  if (run_ready()) {
    quiet_calls_ = 0;
    return hook_answer::progress;
  }
  // [hint] A later call sees it.
  if (++quiet_calls_ < quiet_calls_max && !is_ending_.load(std::memory_order_relaxed)) return hook_answer::no_progress;
  quiet_calls_ = 0;
  return ready_.try_close() ? hook_answer::done : hook_answer::no_progress;
}

void continuation_queue::look_for_end(weft::device& dev, request& req, continuation& attached) {
  looking_.fetch_add(1, std::memory_order_relaxed);  // [own] the thread that ends the rank has it later
  try {
    // The request may be another operation's by now, and the continuation gone: its address alone is compared.
    dev.add_hook([this, &req, of_slot = &attached]() noexcept {
         const bool is_attached = req.waiter.continuation() == of_slot;
         if (is_attached && !req.is_done()) return hook_answer::no_progress;
         if (is_attached && waiter_slot::continuation_in(req.waiter.end()) == of_slot) end_request(*of_slot, req);
         // [continuation_queue.looked] release -> [continuation_queue.ended]: the last use of this object.
         looking_.fetch_sub(1, std::memory_order_release);
         return hook_answer::done;
       })
        .detach();
  } catch (...) {
    looking_.fetch_sub(1, std::memory_order_relaxed);  // [own] likewise
    throw;
  }
}

std::size_t registrar::thread_number() noexcept { return detail::find_request_cache() / sizeof(request_cache); }

void end_request(continuation& attached, const request& req) noexcept {
  if (!attached.open.drop()) return;
  // The thread that ends the last request makes progress there, and will again.
  if (req.owner != nullptr && !attached.is_of_first_vci) {
    message_route& route = req.comm().route;
    attached.queue = &route.pending.continued;
    attached.device = &route.device;
  }
  make_ready(attached);
}

void make_ready(continuation& ready) noexcept {
  if (ready.home == nullptr || !ready.home->try_keep(ready)) ready.queue->push(ready);
}

callback_scope::callback_scope() noexcept {
  weft::detail::words_of_fiber.flags += weft::detail::fiber_words::one_callback;
}
callback_scope::~callback_scope() { weft::detail::words_of_fiber.flags -= weft::detail::fiber_words::one_callback; }

}  // namespace weft::mpi
