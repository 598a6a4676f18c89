// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/requests.hpp"

#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"
#include "weft/device.hpp"

namespace weft::mpi {
namespace {

int cancel_receive(rank_state& rank, const request& one) noexcept {
  while (!one.is_done() && rank.device.cancel(one.ticket) == cancel_result::busy) rank.device.progress();
  return MPI_SUCCESS;
}

int start(rank_state& rank, request& one) {
  if (!one.is_persistent) return fail(MPI_ERR_REQUEST, "the request is not persistent");
  if (one.is_active) return fail(MPI_ERR_REQUEST, "the request is active");
  one.activate();
  const int error = guarded([&] { return one.owned->start(rank, one); });
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  if (error == MPI_ERR_PROC_ABORTED) {
    one.finish(outcome{.error = error});
    return MPI_SUCCESS;
  }
  one.is_active = false;
  one.finish(outcome{});
  return one.of != nullptr ? fail_in(*one.of, error) : error;
}

}  // namespace

int free_request(rank_state& rank, MPI_Request* handle) noexcept {
  request* const one = find_request(*handle);
  if (one == nullptr) return fail(MPI_ERR_REQUEST, "it is no request");
  return guarded([&] {
    rank.requests.release_when_done(*one);
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  });
}

int cancel_request(rank_state& rank, MPI_Request* handle) noexcept {
  request* const one = find_request(*handle);
  if (one == nullptr || !one->is_active) return fail(MPI_ERR_REQUEST, "it is no active request");
  if (one->operation == request_operation::receive) return cancel_receive(rank, *one);
  return one->owned != nullptr ? one->owned->cancel(rank, *one) : MPI_SUCCESS;
}

int start_request(rank_state& rank, MPI_Request* handle) noexcept {
  request* const one = find_request(*handle);
  if (one == nullptr) return fail(MPI_ERR_REQUEST, "it is no request");
  return guarded([&] { return start(rank, *one); });
}

int start_requests(rank_state& rank, int count, MPI_Request* all) noexcept {
  return guarded([&] {
    for (int index = 0; index < count; ++index) {
      const int error = start(rank, *find_request(all[index]));
      if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
