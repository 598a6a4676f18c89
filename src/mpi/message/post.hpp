// SPDX-License-Identifier: BSD-3-Clause
// Posts of sends and receives whose requests have all that they need.
#pragma once

#include "mpi/error/error.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/post_send.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

/// Synchronous sends complete at this level.
inline constexpr completion_level when_matched = completion_level::delivered;

inline described_send described(const communicator& comm, const_buffer_ref bytes, envelope to,
                                completion_level complete_at) noexcept {
  return {.bytes = bytes, .peer = comm.world_rank(to.peer), .tag = to.tag, .complete_at = complete_at};
}

/// Posts a send as its request describes it, or adds it to the pending sends. Returns whether it is complete; then
/// the request is not done yet. **Errors**: those of the post; `std::bad_alloc`.
inline bool post_or_keep(rank_state& rank, request& req) {
  if (!rank.pending.is_empty() && rank.pending.add(req, false)) return false;
  const status answer = post_send(rank.device, rank.signals, req);
  if (answer.is_retry()) rank.pending.add(req, true);
  return answer.is_done();
}

/// Which messages a receive matches.
inline post_recv_options options_of_receive(const communicator& comm, int tag, request& context) noexcept {
  const bool is_any = tag == MPI_ANY_TAG;
  return {.tag = is_any ? 0 : static_cast<std::uint64_t>(tag),
          .engine = comm.engine,
          .any_tag = is_any,
          .context = &context};
}

/// Posts a receive. **Errors**: those of the post.
inline accepted_status post_receive(rank_state& rank, request& req, buffer_ref into, envelope from) {
  const post_recv_options options = options_of_receive(req.comm(), from.tag, req);
  const std::uint32_t peer = from.peer == MPI_ANY_SOURCE ? any_rank : req.comm().world_rank(from.peer);
  return rank.device.until_accepted([&] { return rank.device.post_recv(peer, into, rank.signals, options); });
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
