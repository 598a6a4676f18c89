// SPDX-License-Identifier: BSD-3-Clause
// MPI_Send, MPI_Recv, MPI_Isend and MPI_Irecv of the most common kind, inlined into their entry points, as these are
// the critical path: bytes one behind the other, short if they are sent, in a communicator of all ranks of the job. One
// chain of conditions takes the place of all checks; a call that misses one of them takes the general path, which says
// why. Messages in other communicators, and receives from any source or of any tag, take the same chain with a few
// conditions more, in a function that the entry point calls next (`form::other`).
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

/// What the functions below are made for.
enum class form : std::uint8_t {
  common,  ///< the communicator has all ranks of the job, in their order; a receive names source and tag
  other,   ///< all others that need no more than a few conditions
};

namespace detail {

/// Weft sends so many bytes in a cell or a packet; longer messages have more to do, beside which the general path is
/// short.
inline constexpr MPI_Count short_bytes_max = 1024;

/// The communicator of a handle if it is one for this form; else null.
template <form Form>
[[nodiscard]] [[gnu::always_inline]] inline communicator* find_fast(rank_state& rank, MPI_Comm handle) noexcept {
  if (handle == MPI_COMM_WORLD) [[likely]]
    return &rank.world;
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<communicator*>(handle);
  if (found->kind != object_kind::communicator) return nullptr;
  return Form == form::other || (found->is_whole_job && !found->is_by_tag()) ? found : nullptr;
}

/// The policy of its messages.
template <form Form>
[[nodiscard]] [[gnu::always_inline]] inline match_policy policy_of(const communicator& comm) noexcept {
  return Form == form::other ? comm.policy() : match_policy::rank_tag;
}

/// Whether a receive has an envelope for this form.
template <form Form>
[[nodiscard]] [[gnu::always_inline]] inline bool is_fast(const communicator& comm, envelope from) noexcept {
  const std::uint32_t peers = comm.receive_peers();
  const bool names_source = static_cast<std::uint32_t>(from.peer) < peers;
  const bool names_tag = from.tag >= 0;
  if (Form == form::common) return names_source && names_tag;
  if (peers == 0) return false;
  const bool may_be_open = comm.hints.matching() == matching_kind::in_order;
  const bool is_open = from.peer == MPI_ANY_SOURCE;
  const bool is_right_source = comm.is_by_tag() ? is_open : names_source || (may_be_open && is_open);
  return is_right_source && (names_tag || (may_be_open && from.tag == MPI_ANY_TAG));
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
  std::uint32_t peer = 0;  // rank in the job
  std::size_t bytes = 0;
};
template <form Form>
[[nodiscard]] [[gnu::always_inline]] inline short_send described_short(rank_state& rank, const void* buffer,
                                                                       MPI_Count count, MPI_Datatype type, envelope to,
                                                                       MPI_Comm handle) noexcept {
  communicator* const comm = find_fast<Form>(rank, handle);
  if (comm == nullptr) [[unlikely]]  // first and alone: MPI_COMM_WORLD then passes without this look
    return {};
  const datatype* const type_object = find_dense(type);
  if (type_object == nullptr || is_predefined(buffer) || to.tag < 0) [[unlikely]]
    return {};
  const auto peer = static_cast<std::uint32_t>(to.peer);
  if (peer >= comm->size || static_cast<std::uint64_t>(count) > short_bytes_max ||
      !comm->route.pending.sends.is_empty()) [[unlikely]]
    return {};
  const auto bytes = static_cast<std::size_t>(type_object->size() * count);
  if (bytes > short_bytes_max) [[unlikely]]  // the product of dense elements, so few of them, fits
    return {};
  return {.comm = comm, .peer = Form == form::other ? comm->world_rank(to.peer) : peer, .bytes = bytes};
}

/// A receive into bytes one behind the other; without a communicator: it is another kind.
struct dense_receive {
  communicator* comm = nullptr;
  std::size_t bytes = 0;
};
template <form Form>
[[nodiscard]] [[gnu::always_inline]] inline dense_receive described_dense(rank_state& rank, void* buffer,
                                                                          MPI_Count count, MPI_Datatype type,
                                                                          envelope from, MPI_Comm handle) noexcept {
  communicator* const comm = find_fast<Form>(rank, handle);
  if (comm == nullptr) [[unlikely]]  // first and alone: MPI_COMM_WORLD then passes without this look
    return {};
  const datatype* const type_object = find_dense(type);
  if (type_object == nullptr || is_predefined(buffer)) [[unlikely]]
    return {};
  std::int64_t bytes = 0;
  if (!is_fast<Form>(*comm, from) || !type_object->try_bytes_of(count, bytes)) [[unlikely]]
    return {};
  return {.comm = comm, .bytes = static_cast<std::size_t>(bytes)};
}

/// Posts such a receive. **Errors**: those of the post.
template <form Form>
[[nodiscard]] [[gnu::always_inline]] inline weft::status post_dense(rank_state& rank, request& req,
                                                                    const communicator& comm, buffer_ref into,
                                                                    envelope from) {
  if (Form == form::other) return try_post_receive(comm.route.device, rank.signals, req, into, from);
  return comm.route.device.post_recv(
      static_cast<std::uint32_t>(from.peer), into, rank.signals,
      {.tag = static_cast<std::uint64_t>(from.tag), .engine = comm.engine, .context = &req});
}

}  // namespace detail

/// A blocking send. Returns an error class, or `not_fast`.
template <form Form = form::common>
[[gnu::always_inline]] inline int fast_send(rank_state& rank, const void* buffer, MPI_Count count, MPI_Datatype type,
                                            envelope to, MPI_Comm comm) noexcept {
  const detail::short_send message = detail::described_short<Form>(rank, buffer, count, type, to, comm);
  if (message.comm == nullptr) [[unlikely]]
    return not_fast;
  try {
    request req{request_operation::send, *message.comm};
    const weft::status answer =
        message.comm->route.device.post_send(message.peer, const_buffer_ref{buffer, message.bytes}, rank.signals,
                                             {.tag = static_cast<std::uint64_t>(to.tag),
                                              .engine = message.comm->engine,
                                              .policy = detail::policy_of<Form>(*message.comm),
                                              .context = &req});
    if (answer.is_done()) [[likely]]
      return MPI_SUCCESS;
    return end_send(rank, req, {.bytes = {buffer, message.bytes}, .peer = message.peer, .tag = to.tag}, answer);
  } catch (...) {
    return fail_by_exception();
  }
}

/// A send that does not wait. Most are complete at its end, and have one request in common.
template <form Form = form::common>
[[gnu::always_inline]] inline int fast_start_send(rank_state& rank, const void* buffer, MPI_Count count,
                                                  MPI_Datatype type, envelope to, MPI_Comm comm,
                                                  MPI_Request* handle) noexcept {
  if (handle == nullptr) [[unlikely]]
    return not_fast;
  const detail::short_send message = detail::described_short<Form>(rank, buffer, count, type, to, comm);
  if (message.comm == nullptr) [[unlikely]]
    return not_fast;
  request_cache& cache = rank.requests.own_cache();
  request* const req = request_pool::try_acquire(cache, *message.comm, request_operation::send);
  if (req == nullptr) [[unlikely]]
    return not_fast;
  try {
    const weft::status answer =
        message.comm->route.device.post_send(message.peer, const_buffer_ref{buffer, message.bytes}, rank.signals,
                                             {.tag = static_cast<std::uint64_t>(to.tag),
                                              .engine = message.comm->engine,
                                              .policy = detail::policy_of<Form>(*message.comm),
                                              .context = req});
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
template <form Form = form::common>
[[gnu::always_inline]] inline int fast_start_receive(rank_state& rank, void* buffer, MPI_Count count, MPI_Datatype type,
                                                     envelope from, MPI_Comm comm, MPI_Request* handle) noexcept {
  if (handle == nullptr) [[unlikely]]
    return not_fast;
  const detail::dense_receive receive = detail::described_dense<Form>(rank, buffer, count, type, from, comm);
  if (receive.comm == nullptr) [[unlikely]]
    return not_fast;
  request_cache& cache = rank.requests.own_cache();
  request* const req = request_pool::try_acquire(cache, *receive.comm, request_operation::receive);
  if (req == nullptr) [[unlikely]]
    return not_fast;
  req->wanted = from;
  try {
    const weft::status answer = detail::post_dense<Form>(rank, *req, *receive.comm, {buffer, receive.bytes}, from);
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
template <form Form = form::common>
[[gnu::always_inline]] inline int fast_receive(rank_state& rank, void* buffer, MPI_Count count, MPI_Datatype type,
                                               envelope from, MPI_Comm comm, MPI_Status* status) noexcept {
  const detail::dense_receive receive = detail::described_dense<Form>(rank, buffer, count, type, from, comm);
  if (receive.comm == nullptr) [[unlikely]]
    return not_fast;
  try {
    request req{request_operation::receive, *receive.comm};
    const weft::status answer = detail::post_dense<Form>(rank, req, *receive.comm, {buffer, receive.bytes}, from);
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
