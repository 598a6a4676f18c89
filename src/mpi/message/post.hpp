// SPDX-License-Identifier: BSD-3-Clause
// Posts of sends and receives whose requests have all that they need.
#pragma once

#include "mpi/error/error.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/post_receive.hpp"
#include "mpi/objects/post_send.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

/// Synchronous sends complete at this level.
inline constexpr completion_level when_matched = completion_level::delivered;

inline described_send described(const communicator& comm, const_buffer_ref bytes, envelope to,
                                completion_level complete_at) noexcept {
  return {.bytes = bytes,
          .peer = comm.world_rank(to.peer),
          .tag = to.tag,
          .complete_at = complete_at,
          .device = comm.target_device(to.peer)};
}

/// Posts a send as its request describes it, or adds it to the pending sends. Returns whether it is complete; then
/// the request is not done yet. **Errors**: those of the post; `std::bad_alloc`.
inline bool post_or_keep(rank_state& rank, request& req) {
  const communicator& comm = req.comm();
  if (!comm.route.pending.sends.is_empty() && comm.route.pending.sends.add(req, false)) return false;
  const status answer = post_send(comm.route.device, rank.signals, req);
  if (answer.is_retry()) comm.route.pending.sends.add(req, true);
  return answer.is_done();
}

/// Posts a receive, and notes its ticket; or adds it to the pending receives. **Errors**: those of the post;
/// `std::bad_alloc`.
inline void post_receive(rank_state& rank, request& req, buffer_ref into, envelope from) {
  const communicator& comm = req.comm();
  if (comm.receive_peers() != 0) [[likely]] {
    const status answer = try_post_receive(comm.route.device, rank.signals, req, into, from);
    if (!answer.is_retry()) [[likely]] {
      req.ticket = answer.ticket();
      return;
    }
  }
  comm.route.pending.receives.post_or_keep(req, into, from);
}

/// A layout refers to its datatype, whose handle may be freed before the operation is complete.
inline void keep_type(request& req, const weft::memory* layout, const datatype& type) {
  if (layout != nullptr) [[unlikely]]
    req.owned = new kept_datatype{type};
}

/// Starts the operation of a fresh request by `post`, and gives its handle. A peer that has died ends the request, not
/// the call that starts it. Returns an error class; then there is no request.
template <class Post>
int begin(rank_state& rank, request& req, MPI_Request* handle, Post&& post) noexcept {
  *handle = handle_of(req);
  const int error = guarded(post);
  if (error == MPI_SUCCESS) [[likely]]
    return MPI_SUCCESS;
  if (error == MPI_ERR_PROC_ABORTED) {
    req.finish(outcome{.error = error});
    return MPI_SUCCESS;
  }
  rank.requests.release(req);
  *handle = MPI_REQUEST_NULL;
  return error;
}

}  // namespace weft::mpi
