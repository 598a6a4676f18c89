// SPDX-License-Identifier: BSD-3-Clause
// MPI_Send, MPI_Recv, MPI_Isend and MPI_Irecv of the most common kind, inlined into their entry points, as these are
// the critical path: bytes one behind the other, short if they are sent, in a communicator of all ranks of the job. One
// chain of conditions takes the place of all checks; a call that misses one of them takes the general path, which says
// why.
//
// Cost beyond Weft's own post: some 15 conditions, and a request on the stack: a post and its end write a few of its
// words.
#pragma once

#include "mpi/error/error.hpp"
#include "mpi/message/post.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {

/// The answer of the functions below for a call of another kind: nothing has happened. No class of an error.
inline constexpr int not_fast = -1;

/// The rest of a blocking send whose post was not done, but has given this answer. **Errors**: `weft::error`.
[[gnu::cold]] int end_send(rank_state& rank, request& req, const described_send& send, weft::status answer);

namespace detail {

/// Weft sends so many bytes in a cell or a packet; longer messages have more to do, beside which the general path is
/// short.
inline constexpr MPI_Count short_bytes_max = 1024;

/// The communicator of a handle if all ranks of the job are its members, in their order, and receives may name them;
/// else null.
[[nodiscard]] [[gnu::always_inline]] inline communicator* find_whole_job(rank_state& rank, MPI_Comm handle) noexcept {
  if (handle == MPI_COMM_WORLD) [[likely]]
    return &rank.world;
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<communicator*>(handle);
  return found->kind == object_kind::communicator && found->is_whole_job && !found->is_by_tag() ? found : nullptr;
}

/// The datatype of a handle if its elements are bytes one behind the other, and it may be used; else null.
[[nodiscard]] [[gnu::always_inline]] inline const datatype* find_dense(MPI_Datatype handle) noexcept {
  if (is_predefined(handle)) [[likely]] {
    const datatype* const found = find_made(number_of(handle));
    return found != nullptr && found->map().is_dense ? found : nullptr;
  }
  const datatype* const found = find_derived(handle);
  return found != nullptr && found->map().is_dense && found->is_committed() ? found : nullptr;
}

/// A short message; without a communicator: it is another kind of send.
struct short_send {
  communicator* comm = nullptr;
  std::uint32_t peer = 0;
  std::size_t bytes = 0;
};
[[nodiscard]] [[gnu::always_inline]] inline short_send described_short(rank_state& rank, const void* buffer,
                                                                       MPI_Count count, MPI_Datatype type, envelope to,
                                                                       MPI_Comm comm) noexcept {
  communicator* const comm_object = find_whole_job(rank, comm);
  if (comm_object == nullptr) [[unlikely]]  // first and alone: MPI_COMM_WORLD then passes without this look
    return {};
  const datatype* const type_object = find_dense(type);
  if (type_object == nullptr || is_predefined(buffer) || to.tag < 0) [[unlikely]]
    return {};
  const auto peer = static_cast<std::uint32_t>(to.peer);
  if (peer >= comm_object->size || static_cast<std::uint64_t>(count) > short_bytes_max ||
      !comm_object->route.pending.sends.is_empty()) [[unlikely]]
    return {};
  const auto bytes = static_cast<std::size_t>(type_object->size() * count);
  if (bytes > short_bytes_max) [[unlikely]]  // the product of dense elements, so few of them, fits
    return {};
  return {.comm = comm_object, .peer = peer, .bytes = bytes};
}

/// A receive of the common kind; without a communicator: it is another kind.
struct dense_receive {
  communicator* comm = nullptr;
  std::uint32_t peer = 0;
  std::size_t bytes = 0;
};
[[nodiscard]] [[gnu::always_inline]] inline dense_receive described_dense(rank_state& rank, void* buffer,
                                                                          MPI_Count count, MPI_Datatype type,
                                                                          envelope from, MPI_Comm comm) noexcept {
  communicator* const comm_object = find_whole_job(rank, comm);
  if (comm_object == nullptr) [[unlikely]]  // first and alone: MPI_COMM_WORLD then passes without this look
    return {};
  const datatype* const type_object = find_dense(type);
  if (type_object == nullptr || is_predefined(buffer) || from.tag < 0) [[unlikely]]
    return {};
  const auto peer = static_cast<std::uint32_t>(from.peer);
  std::int64_t bytes = 0;
  if (peer >= comm_object->receive_peers() || !type_object->try_bytes_of(count, bytes)) [[unlikely]]
    return {};
  return {.comm = comm_object, .peer = peer, .bytes = static_cast<std::size_t>(bytes)};
}

}  // namespace detail

/// A blocking send. Returns an error class, or `not_fast`.
[[gnu::always_inline]] inline int fast_send(rank_state& rank, const void* buffer, MPI_Count count, MPI_Datatype type,
                                            envelope to, MPI_Comm comm) noexcept {
  const detail::short_send message = detail::described_short(rank, buffer, count, type, to, comm);
  if (message.comm == nullptr) [[unlikely]]
    return not_fast;
  try {
    request req{request_operation::send, *message.comm};
    const weft::status answer = message.comm->route.device.post_send(
        message.peer, const_buffer_ref{buffer, message.bytes}, rank.signals,
        {.tag = static_cast<std::uint64_t>(to.tag), .engine = message.comm->engine, .context = &req});
    if (answer.is_done()) [[likely]]
      return MPI_SUCCESS;
    return end_send(rank, req, {.bytes = {buffer, message.bytes}, .peer = message.peer, .tag = to.tag}, answer);
  } catch (...) {
    return fail_by_exception();
  }
}

/// A send that does not wait. Most are complete at its end, and have one request in common.
[[gnu::always_inline]] inline int fast_start_send(rank_state& rank, const void* buffer, MPI_Count count,
                                                  MPI_Datatype type, envelope to, MPI_Comm comm,
                                                  MPI_Request* handle) noexcept {
  if (handle == nullptr) [[unlikely]]
    return not_fast;
  const detail::short_send message = detail::described_short(rank, buffer, count, type, to, comm);
  if (message.comm == nullptr) [[unlikely]]
    return not_fast;
  request_cache& cache = rank.requests.own_cache();
  request* const req = request_pool::try_acquire(cache, *message.comm, request_operation::send);
  if (req == nullptr) [[unlikely]]
    return not_fast;
  try {
    const weft::status answer = message.comm->route.device.post_send(
        message.peer, const_buffer_ref{buffer, message.bytes}, rank.signals,
        {.tag = static_cast<std::uint64_t>(to.tag), .engine = message.comm->engine, .context = req});
    if (answer.is_done()) [[likely]] {
      rank.requests.release_unreferenced(cache, *req);
      *handle = handle_of(rank.requests.sent());
      return MPI_SUCCESS;
    }
    if (answer.is_posted()) {
      message.comm->add_reference();
      *handle = handle_of(*req);
      return MPI_SUCCESS;
    }
  } catch (...) {
    // The general path meets this error again, and deals with it.
  }
  rank.requests.release_unreferenced(cache, *req);
  return not_fast;
}

/// A receive that does not wait.
[[gnu::always_inline]] inline int fast_start_receive(rank_state& rank, void* buffer, MPI_Count count, MPI_Datatype type,
                                                     envelope from, MPI_Comm comm, MPI_Request* handle) noexcept {
  if (handle == nullptr) [[unlikely]]
    return not_fast;
  const detail::dense_receive receive = detail::described_dense(rank, buffer, count, type, from, comm);
  if (receive.comm == nullptr) [[unlikely]]
    return not_fast;
  request_cache& cache = rank.requests.own_cache();
  request* const req = request_pool::try_acquire(cache, *receive.comm, request_operation::receive);
  if (req == nullptr) [[unlikely]]
    return not_fast;
  req->wanted = from;
  try {
    const weft::status answer = receive.comm->route.device.post_recv(
        receive.peer, buffer_ref{buffer, receive.bytes}, rank.signals,
        {.tag = static_cast<std::uint64_t>(from.tag), .engine = receive.comm->engine, .context = req});
    if (answer.is_posted()) [[likely]] {
      receive.comm->add_reference();
      req->ticket = answer.ticket();
      *handle = handle_of(*req);
      return MPI_SUCCESS;
    }
  } catch (...) {
    // The general path meets this error again, and deals with it.
  }
  rank.requests.release_unreferenced(cache, *req);
  return not_fast;
}

/// A blocking receive. Returns an error class, or `not_fast`.
[[gnu::always_inline]] inline int fast_receive(rank_state& rank, void* buffer, MPI_Count count, MPI_Datatype type,
                                               envelope from, MPI_Comm comm, MPI_Status* status) noexcept {
  const detail::dense_receive receive = detail::described_dense(rank, buffer, count, type, from, comm);
  if (receive.comm == nullptr) [[unlikely]]
    return not_fast;
  try {
    request req{request_operation::receive, *receive.comm};
    const weft::status answer = receive.comm->route.device.post_recv(
        receive.peer, buffer_ref{buffer, receive.bytes}, rank.signals,
        {.tag = static_cast<std::uint64_t>(from.tag), .engine = receive.comm->engine, .context = &req});
    if (answer.is_retry()) [[unlikely]]
      return not_fast;
    wait_for(rank, req, "MPI_Recv");
    if (status != MPI_STATUS_IGNORE) write_status(status, req.result);
    if (req.result.error != MPI_SUCCESS) [[unlikely]]
      return fail_of(req, req.result);
    return MPI_SUCCESS;
  } catch (...) {
    return fail_by_exception();
  }
}

}  // namespace weft::mpi
