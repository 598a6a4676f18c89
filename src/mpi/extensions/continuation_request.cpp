// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/extensions/continuation_request.hpp"

#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/rank/progress.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/detail/fiber_words.hpp"

namespace weft::mpi {
namespace {

void describe_registered(const void* /*subject*/, std::string& text) { text += " for continuations"; }

}  // namespace

void continuation_request::note_device(weft::device& dev) noexcept {
  // [hint] A test that sees less makes progress on fewer devices.
  weft::device* known = device_.load(std::memory_order_relaxed);
  if (known == &dev) [[likely]]
    return;
  // [hint] likewise
  if (known == nullptr && device_.compare_exchange_strong(known, &dev, std::memory_order_relaxed)) return;
  if (known != &dev) has_several_devices_.store(true, std::memory_order_relaxed);  // [hint] likewise
}

int continuation_request::start(rank_state& /*rank*/, request& self) {
  self.waiter.reset(weft::detail::never_awaited);  // its end is looked for, also by fibers
  for (continuation* each = held.take_all(true); each != nullptr;) {
    continuation* const next = each->next;  // read first: another thread may run it
    each->queue->push(*each);
    each = next;
  }
  look(self);
  return MPI_SUCCESS;
}

void continuation_request::complete(rank_state& /*rank*/, request& /*self*/, outcome& result) noexcept {
  static_cast<void>(held.try_close());
  result.error = error.exchange(MPI_SUCCESS, std::memory_order_relaxed);  // [own] `look` has seen the ends
}

void continuation_request::look(request& self) noexcept {
  if (!self.is_active) return;
  // Polled ones that do not count are run, too, before it is complete: no other call runs them.
  // [request.look] release -> [request.done]: what the continuations did.
  self.done.store(counted.are_all_ended() && !has_polled(), std::memory_order_release);
}

bool continuation_request::run_polled() noexcept {
  if (!has_polled()) return false;
  // [own] the thread that tests
  continuation* each = to_run_.load(std::memory_order_relaxed);
  if (each == nullptr) each = polled.take_all(false);
  for (int runs = 0; each != nullptr && (polls_max_ == 0 || runs < polls_max_); ++runs) {
    continuation& first = *std::exchange(each, each->next);
    // [own] before it runs, as it may test other requests
    to_run_.store(each, std::memory_order_relaxed);
    first.run(first);
  }
  to_run_.store(each, std::memory_order_relaxed);  // [own] likewise
  return true;
}

bool continuation_request::advance(rank_state& rank, request& self) noexcept {
  if (weft::detail::is_in_callback()) return false;
  // [hint] see `note_device`
  weft::device* const known = device_.load(std::memory_order_relaxed);
  bool has_moved = false;
  if (has_several_devices_.load(std::memory_order_relaxed)) {  // [hint] likewise
    has_moved = progress_on(rank.vcis.devices());
  } else {
    has_moved = known != nullptr ? known->progress() : rank.device.progress();
  }
  {
    const callback_scope they_run;
    if (is_poll_only) has_moved |= run_polled();
  }
  look(self);
  return has_moved;
}

void continuation_request::wait(rank_state& rank, request& self) noexcept {
  // **Errors** are only those of a wait inside a callback, where no caller calls this.
  static_cast<void>(guarded([&] {
    wait_on(rank, {"MPI_Wait", &describe_registered, this}, rank.vcis.devices(), [&] {
      if (!self.is_done()) static_cast<void>(advance(rank, self));
      return self.is_done();
    });
    return MPI_SUCCESS;
  }));
}

int continuation_request::refuse_free() noexcept {
  if (counted.are_all_ended() && forgotten.are_all_ended()) return MPI_SUCCESS;
  return fail(MPI_ERR_REQUEST, "continuations that are registered in it have not run");
}

}  // namespace weft::mpi
