// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/requests.hpp"

#include "mpi/error/error.hpp"
#include "mpi/rank/raise.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/device.hpp"

namespace weft::mpi {
namespace {

int cancel_receive(const request& req) noexcept {
  if (req.owner == nullptr) return MPI_SUCCESS;  // of a message without a sender
  communicator& comm = req.comm();
  if (!comm.route.pending.receives.is_empty() && comm.route.pending.receives.cancel(req)) return MPI_SUCCESS;
  // Inside a callback it gives up, as only progress may post a receive that was put off: then it is as it was.
  constexpr unsigned tries_in_callback = 1000;
  for (unsigned tries = 0; !req.is_done() && comm.route.device.cancel(req.ticket) == cancel_result::busy; ++tries) {
    if (weft::detail::is_in_callback() && tries == tries_in_callback) break;
    comm.route.device.progress();
  }
  return MPI_SUCCESS;
}

int start(rank_state& rank, request& req) {
  if (!req.is_persistent) return fail(MPI_ERR_REQUEST, "the request is not persistent");
  if (req.is_active) return fail(MPI_ERR_REQUEST, "the request is active");
  void* attached = nullptr;
  if (req.kind == object_kind::continued_request) [[unlikely]]
    attached = req.waiter.continuation();
  req.activate();
  if (attached != nullptr) [[unlikely]]
    req.waiter.reset(waiter_slot::attached_word(attached));
  const int error = guarded([&] { return req.owned->start(rank, req); });
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  if (error == MPI_ERR_PROC_ABORTED) {
    req.finish(outcome{.error = error});
    return MPI_SUCCESS;
  }
  req.is_active = false;
  req.waiter.reset(weft::detail::never_awaited);  // a continuation waits for a start that succeeds
  req.finish(outcome{});
  if (attached != nullptr) req.waiter.reset(waiter_slot::attached_word(attached));
  return req.owner != nullptr ? fail_in(*req.owner, error) : error;
}

// What the request owns acts at its completion. A generalized request has no query then (13.2), and ends by itself.
int end_freed(rank_state& rank, request& req) noexcept {
  if (req.owned == nullptr || req.is_persistent || req.operation == request_operation::generalized || !req.is_done())
    return MPI_SUCCESS;
  outcome result = req.result;
  req.owned->complete(rank, req, result);
  return req.result.error == MPI_SUCCESS ? fail_of(req, result) : MPI_SUCCESS;
}

}  // namespace

int free_request(rank_state& rank, MPI_Request* handle) noexcept {
  request* const req = find_request(*handle);
  if (req == nullptr) return fail_request(*handle);
  return guarded([&] {
    if (req->kind == object_kind::continuation_request) [[unlikely]] {
      if (const int refused = req->owned->refuse_free(); refused != MPI_SUCCESS) return refused;
    }
    const int error = end_freed(rank, *req);
    rank.requests.release_when_done(*req);
    *handle = MPI_REQUEST_NULL;
    return error;
  });
}

int is_complete(MPI_Request handle) {
  rank_state* const here = current_rank();
  if (here == nullptr) [[unlikely]]
    return raise_outside("MPIX_Request_is_complete", fail_outside());
  if (handle == MPI_REQUEST_NULL) return 1;
  const request* const req = find_request(handle);
  if (req != nullptr) [[likely]]
    return req->is_done() ? 1 : 0;
  raise(*here, nullptr, fail_request(handle), "MPIX_Request_is_complete");
  return 1;  // a loop that waits for it ends
}

int cancel_request(rank_state& rank, MPI_Request* handle) noexcept {
  request* const req = find_any_request(*handle);
  if (req == nullptr || !req->is_active) return fail(MPI_ERR_REQUEST, "it is no active request");
  if (req->operation == request_operation::receive) return cancel_receive(*req);
  return req->owned != nullptr ? req->owned->cancel(rank, *req) : MPI_SUCCESS;
}

int start_request(rank_state& rank, MPI_Request* handle) noexcept {
  request* const req = find_any_request(*handle);
  if (req == nullptr) return fail_request(*handle);
  return guarded([&] { return start(rank, *req); });
}

int start_requests(rank_state& rank, int count, MPI_Request* all) noexcept {
  return guarded([&] {
    for (int index = 0; index < count; ++index) {
      const int error = start(rank, *find_any_request(all[index]));
      if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
