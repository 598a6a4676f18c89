// MPI_Send and MPI_Recv of the most common kind, inlined into their entry points, as these are the critical path: the
// data of a predefined datatype, short if it is sent, in a communicator of all ranks of the job. One chain of
// conditions takes the place of all checks; a call that misses one of them takes the general path, which says why.
//
// Cost beyond Weft's own post: some 15 conditions, and a request on the stack, of which a post and its end write a few
// words.
#pragma once

#include "mpi/message/post.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"

namespace weft::mpi {

/// The answer of the functions below for a call of another kind: nothing has happened. No class of an error.
inline constexpr int not_fast = -1;

/// The rest of a blocking send whose post was not done, but has given this answer. **Errors**: `weft::error`.
[[gnu::cold]] int end_send(rank_state& rank, request& one, const described_send& of, weft::status answer);

namespace detail {

/// Weft sends so many bytes inside of the descriptor of a message; longer messages have more to do.
inline constexpr MPI_Count short_bytes_max = 40;
/// Elements of which the bytes fit in any type that counts bytes.
inline constexpr MPI_Count small_count_max = MPI_Count{1} << 40;

/// The communicator of a handle if all ranks of the job are its members, in their order; else null.
[[nodiscard]] [[gnu::always_inline]] inline communicator* find_whole_job(rank_state& rank, MPI_Comm handle) noexcept {
  if (handle == MPI_COMM_WORLD) [[likely]]
    return &rank.world;
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<communicator*>(handle);
  return found->kind == object_kind::communicator && found->is_whole_job ? found : nullptr;
}

/// The datatype of a handle if it is predefined and its elements are bytes one behind the other; else null.
[[nodiscard]] [[gnu::always_inline]] inline const datatype* find_dense(MPI_Datatype handle) noexcept {
  const datatype* const found = find_made(number_of(handle));
  return found != nullptr && found->map().is_dense ? found : nullptr;
}

}  // namespace detail

/// A blocking send. Returns an error class, or `not_fast`.
[[gnu::always_inline]] inline int fast_send(rank_state& rank, const void* buffer, MPI_Count count, MPI_Datatype type,
                                            envelope to, MPI_Comm comm) noexcept {
  communicator* const in = detail::find_whole_job(rank, comm);
  const datatype* const of = detail::find_dense(type);
  if (in == nullptr || of == nullptr || is_predefined(buffer) || to.tag < 0) [[unlikely]]
    return not_fast;
  const auto peer = static_cast<std::uint32_t>(to.peer);
  if (peer >= in->size || static_cast<std::uint64_t>(count) > detail::short_bytes_max || !rank.unposted.is_empty())
      [[unlikely]] {
    return not_fast;
  }
  const const_buffer_ref bytes{buffer, static_cast<std::size_t>(of->size() * count)};
  if (bytes.bytes() > detail::short_bytes_max) [[unlikely]]
    return not_fast;
  return guarded([&]() __attribute__((always_inline)) {
    request one{.of = in};
    const weft::status answer = rank.device.post_send(
        peer, bytes, rank.signals, {.tag = static_cast<std::uint64_t>(to.tag), .engine = in->engine, .context = &one});
    if (answer.is_done()) [[likely]]
      return MPI_SUCCESS;
    return end_send(rank, one, {.bytes = bytes, .peer = peer, .tag = to.tag}, answer);
  });
}

/// A blocking receive. Returns an error class, or `not_fast`.
[[gnu::always_inline]] inline int fast_receive(rank_state& rank, void* buffer, MPI_Count count, MPI_Datatype type,
                                               envelope from, MPI_Comm comm, MPI_Status* status) noexcept {
  communicator* const in = detail::find_whole_job(rank, comm);
  const datatype* const of = detail::find_dense(type);
  if (in == nullptr || of == nullptr || is_predefined(buffer) || from.tag < 0) [[unlikely]]
    return not_fast;
  const auto peer = static_cast<std::uint32_t>(from.peer);
  if (peer >= in->size || static_cast<std::uint64_t>(count) > detail::small_count_max) [[unlikely]]
    return not_fast;
  return guarded([&]() __attribute__((always_inline)) {
    request one{.operation = request_operation::receive, .of = in};
    const weft::status answer =
        rank.device.post_recv(peer, buffer_ref{buffer, static_cast<std::size_t>(of->size() * count)}, rank.signals,
                              {.tag = static_cast<std::uint64_t>(from.tag), .engine = in->engine, .context = &one});
    if (answer.is_retry()) [[unlikely]]
      return not_fast;
    wait_for(rank, one);
    if (status != MPI_STATUS_IGNORE) write_status(status, one.result);
    if (one.result.error != MPI_SUCCESS) [[unlikely]]
      return fail_of(one, one.result);
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
