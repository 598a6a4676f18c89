// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/extensions/continuations.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/error/error.hpp"
#include "mpi/extensions/continuation_request.hpp"
#include "mpi/extensions/run_continuation.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/detail/fiber_wait.hpp"
#include "weft/detail/fiber_words.hpp"

namespace weft::mpi {
namespace {

void set_kind(request& req, object_kind kind) noexcept {
  // relaxed: another thread may complete a generalized request.
  std::atomic_ref{req.kind}.store(kind, std::memory_order_relaxed);
}

// Requests that begin from now on can be awaited. Others are looked at until they end.
void await_requests(rank_state& rank) noexcept {
  rank.requests.continuations().note_use();
  // [hint] see `fresh_slot`
  if (fresh_slot() != waiter_slot::vacant) [[unlikely]]
    weft::detail::fresh_wait_slot.store(waiter_slot::vacant, std::memory_order_relaxed);  // [hint] likewise
}

// Attaches a continuation to its requests, one after the other.
class attachment {
 public:
  attachment(rank_state& rank, continuation& attached) noexcept : rank_{rank}, attached_{attached} {}

  // Returns an error class. **Errors**: std::bad_alloc. After both, `detach` is for the caller.
  int attach_to_all() {
    for (; done_ < attached_.count; ++done_) {
      request* const req = attached_.at(done_);
      if (req == nullptr || req == &rank_.requests.sent()) continue;  // complete; the latter is that of many sends
      if (const int error = attach_to(*req); error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
  }
  // The requests are as they were, unless they have ended meanwhile. No other thread uses the continuation then.
  void detach() noexcept {
    for (std::uint32_t each = 0; each < done_; ++each) {
      request* const req = attached_.at(each);
      if (req == nullptr || req == &rank_.requests.sent()) continue;
      if (req->waiter.continuation() == &attached_ && req->waiter.try_detach(&attached_)) drop();
      set_kind(*req, object_kind::request);
    }
    while (!attached_.open.is_alone()) std::this_thread::yield();  // threads that end some are about to step down
  }

 private:
  void drop() noexcept { static_cast<void>(attached_.open.drop()); }

  int attach_to(request& req) {
    if (req.kind == object_kind::continued_request) return fail(MPI_ERR_REQUEST, "the request is there twice");
    attached_.open.add();
    // First: when it is attached, another thread may complete and release it.
    set_kind(req, object_kind::continued_request);
    if (req.is_persistent && !req.is_active) {
      req.waiter.reset(waiter_slot::attached_word(&attached_));
      return MPI_SUCCESS;
    }
    if (req.is_done()) {
      drop();
      return MPI_SUCCESS;
    }
    if (req.waiter.try_attach(&attached_, waiter_slot::vacant)) return MPI_SUCCESS;
    if (req.waiter.is_never_awaited()) return attach_to_early(req);
    if (!req.waiter.has_ended()) {
      drop();
      set_kind(req, object_kind::request);
      return fail(MPI_ERR_REQUEST, "another call waits for the request");
    }
    while (!req.is_done()) std::this_thread::yield();  // a thread is about to end it
    drop();
    return MPI_SUCCESS;
  }
  // To one that began before the process had continuations: its end may overlook this one.
  int attach_to_early(request& req) {
    message_route* const route = req.owner != nullptr ? &req.comm().route : nullptr;
    continuation_queue& queue = route != nullptr ? route->pending.continued : *attached_.queue;
    weft::device& dev = route != nullptr ? route->device : *attached_.device;
    // Only this thread changes a slot that no thread awaits.
    static_cast<void>(req.waiter.try_attach(&attached_, weft::detail::never_awaited));
    ++done_;  // without memory it is detached, too
    queue.look_for_end(dev, req, attached_);
    --done_;
    return MPI_SUCCESS;
  }

  rank_state& rank_;
  continuation& attached_;
  std::uint32_t done_ = 0;
};

int fail_to_attach(MPI_Request handle) noexcept {
  const bool is_continuation_request =
      !is_predefined(handle) && reinterpret_cast<const request*>(handle)->kind == object_kind::continuation_request;
  if (!is_continuation_request) return fail_request(handle);
  return fail(MPI_ERR_REQUEST, "no continuation can be attached to a continuation request");
}

// The part of a continuation request; null: the program has given none.
continuation_request* home_of(MPI_Request handle) noexcept {
  if (handle == MPI_REQUEST_NULL) return nullptr;
  return static_cast<continuation_request*>(reinterpret_cast<const request*>(handle)->owned);
}

// Notes the requests, and which list is for the continuation if it may run now. Returns an error class.
// **Errors**: std::bad_alloc.
int note_requests(rank_state& rank, continuation& made, const MPI_Request* handles) {
  if (made.count != 1) made.several = std::make_unique<request*[]>(made.count);
  vci& first = rank.vcis.first();
  made.queue = &first.pending.continued;
  made.device = &first.device;
  made.is_of_first_vci = false;
  bool has_route = false;
  for (std::uint32_t each = 0; each < made.count; ++each) {
    request*& req = made.at(each) = nullptr;
    if (handles[each] == MPI_REQUEST_NULL) continue;
    if (is_predefined(handles[each])) return fail_to_attach(handles[each]);
    req = reinterpret_cast<request*>(handles[each]);
    if (req->kind != object_kind::request) return fail_to_attach(handles[each]);
    made.is_of_first_vci |= req->operation == request_operation::generalized;
    if (has_route || req->owner == nullptr || req->is_done()) continue;
    has_route = true;
    made.queue = &req->comm().route.pending.continued;
    made.device = &req->comm().route.device;
  }
  if (made.is_of_first_vci) {
    made.queue = &first.pending.continued;
    made.device = &first.device;
  }
  return MPI_SUCCESS;
}

// The handles of requests that are not persistent are null when the call returns.
void take_handles(continuation& attached, MPI_Request* handles) noexcept {
  for (std::uint32_t each = 0; each < attached.count; ++each) {
    if (attached.at(each) != nullptr && !attached.at(each)->is_persistent) handles[each] = MPI_REQUEST_NULL;
  }
}

// All its requests had ended when it was attached, or the last one has ended meanwhile.
void make_ready_or_run(continuation& ready) noexcept {
  constexpr int when = MPIX_CONT_IMMEDIATE | MPIX_CONT_DEFER_COMPLETE;
  // Inside of a callback it waits for progress, as a chain of them would take stack without bound.
  if ((ready.flags & when) != MPIX_CONT_IMMEDIATE || weft::detail::is_in_callback()) return make_ready(ready);
  if (ready.home != nullptr && ready.home->try_keep(ready)) return;
  const callback_scope runs;
  ready.run(ready);
}

// A test of the continuation request makes progress where the requests are. **Threads**: the one that attaches, before
// another one can run the continuation.
void note_devices(rank_state& rank, continuation_request& home, continuation& attached) noexcept {
  for (std::uint32_t each = 0; each < attached.count; ++each) {
    request* const req = attached.at(each);
    const bool is_done = req == nullptr || (req->is_active && req->is_done());
    if (!is_done) home.note_device(device_of(rank, *req));
  }
}

// The call completes them no more: the callback may attach to them again before it returns. **Threads**: likewise.
void note_given(rank_state& rank, continuation& attached) noexcept {
  if (rank.session.checks == nullptr) [[likely]]
    return;
  for (std::uint32_t each = 0; each < attached.count; ++each) rank.session.checks->note_started(attached.at(each));
}

int attach(rank_state& rank, continuation& made, MPI_Request* handles) {
  if (const int error = note_requests(rank, made, handles); error != MPI_SUCCESS) return error;
  await_requests(rank);
  attachment requests{rank, made};
  const int error = guarded([&] { return requests.attach_to_all(); });
  if (error != MPI_SUCCESS) requests.detach();
  return error;
}

// The VCIs of the rank, and those of its streams: no other thread is in one now. **Errors**: std::bad_alloc.
std::vector<vci*> all_interfaces(rank_state& rank) {
  std::vector<vci*> out;
  rank.vcis.each([&](vci& each) { out.push_back(&each); });
  for (stream* const each : rank.vcis.streams().all()) out.push_back(&each->own_vci);
  return out;
}
void progress_on_all(const std::vector<vci*>& all) noexcept {
  for (vci* const each : all) each->device.progress();
}

// Callbacks may attach others that run at once; not for ever.
void run_all_ready(const std::vector<vci*>& all) noexcept {
  constexpr int rounds_max = 1000;
  const auto has_ready = [](const vci* each) { return each->pending.continued.has_ready(); };
  for (int round = 0; round < rounds_max && std::ranges::any_of(all, has_ready); ++round) progress_on_all(all);
}

void detach_at_end(request& req) noexcept {
  void* const found = req.waiter.continuation();
  if (found == nullptr || !req.waiter.try_detach(found)) return;
  req.kind = object_kind::request;
  auto& attached = *static_cast<continuation*>(found);
  if (attached.open.drop()) drop_continuation(attached);
}

// Releases all that is in the queues, and ends their hooks, which refer to them.
void end_queues(const std::vector<vci*>& all) noexcept {
  const auto has_ended = [](const vci* each) { return each->pending.continued.has_ended(); };
  do {
    for (vci* const each : all) {
      continuation_queue& queue = each->pending.continued;
      for (continuation* ready = queue.take_ready(); ready != nullptr;)
        drop_continuation(*std::exchange(ready, ready->next));
      queue.end();
    }
    progress_on_all(all);
  } while (!std::ranges::all_of(all, has_ended));
}

}  // namespace

int make_continuation_request(rank_state& rank, int flags, int polls_max, MPI_Request* handle) noexcept {
  return guarded([&] {
    auto part = std::make_unique<continuation_request>((flags & MPIX_CONT_POLL_ONLY) != 0, polls_max);
    request& made = rank.requests.acquire_persistent(nullptr, request_operation::collective, std::move(part));
    made.kind = object_kind::continuation_request;
    await_requests(rank);
    *handle = handle_of(made);
    return MPI_SUCCESS;
  });
}

int attach_continuation(rank_state& rank, int count, MPI_Request* requests, const continuation_call& call,
                        MPI_Status* statuses) noexcept {
  return guarded([&] {
    continuation& made = rank.requests.continuations().acquire();
    continuation_request* const home = home_of(call.home);
    const bool is_volatile = (call.flags & MPIX_CONT_REQBUF_VOLATILE) != 0;
    const bool counts = (call.flags & MPIX_CONT_FORGET) == 0;
    made.open.reset();
    made.count = static_cast<std::uint32_t>(count);
    made.run = &run_continuation;
    made.rank = &rank;
    made.home = home;
    made.callback = call.callback;
    made.data = call.data;
    made.flags = call.flags;
    made.arrays = {.handles = is_volatile ? nullptr : requests, .statuses = statuses};
    const int error = guarded([&] { return attach(rank, made, requests); });
    if (error != MPI_SUCCESS) {
      rank.requests.continuations().release(made);
      return error;
    }
    if (is_volatile) take_handles(made, requests);
    if (home != nullptr) {
      note_devices(rank, *home, made);
      home->begin(counts);
    }
    note_given(rank, made);
    if (made.open.drop()) make_ready_or_run(made);
    return MPI_SUCCESS;
  });
}

int end_continuations(rank_state& rank) noexcept {
  if (!rank.requests.continuations().is_used()) return MPI_SUCCESS;
  // First, so that the look at all requests has an order with all that other threads do.
  rank.vcis.stop_threads();
  rank.vcis.streams().stop_threads();
  return guarded([&] {
    const std::vector<vci*> all = all_interfaces(rank);
    run_all_ready(all);
    std::vector<request*> homes;
    rank.requests.each_made([&](request& req) {
      if (req.kind == object_kind::continuation_request) homes.push_back(&req);
      if (req.kind == object_kind::continued_request) detach_at_end(req);
    });
    for (request* const each : homes) {
      static_cast<continuation_request*>(each->owned)->take_kept(&drop_continuation);
      each->done.store(true, std::memory_order_relaxed);  // [own] the rank ends
    }
    end_queues(all);
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
