// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/point_to_point.hpp"

#include "mpi/message/fast_messages.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"

namespace weft::mpi {
namespace {

const char* name_of_send(completion_level complete_at) noexcept {
  return complete_at == when_matched ? "MPI_Ssend" : "MPI_Send";
}

}  // namespace

int send(rank_state& rank, communicator& in, const typed_bytes& from, envelope to,
         completion_level complete_at) noexcept {
  return guarded([&] {
    request one{request_operation::send, in};
    one.send = described(in, from.bytes(), to, complete_at);
    if (!post_or_keep(rank, one)) wait_for(rank, one, name_of_send(complete_at));
    return one.result.error;
  });
}

int end_send(rank_state& rank, request& one, const described_send& of, status answer) {
  one.send = of;
  if (answer.is_retry()) rank.unposted.add(one, true);
  wait_for(rank, one, name_of_send(of.complete_at));
  return one.result.error;
}

int receive(rank_state& rank, communicator& in, const typed_buffer& into, envelope from, MPI_Status* status) noexcept {
  return guarded([&] {
    request one{request_operation::receive, in};
    post_receive(rank, one, into.bytes(), from);
    wait_for(rank, one, "MPI_Recv");
    write_status(status, one.result);
    return fail_of(one, one.result);
  });
}

int start_send(rank_state& rank, communicator& in, const typed_bytes& from, envelope to, MPI_Request* out,
               completion_level complete_at) noexcept {
  return guarded([&] {
    request& one = rank.requests.acquire(&in, request_operation::send);
    return begin(rank, one, out, [&] {
      if (to.peer == MPI_PROC_NULL) {
        one.finish(outcome{});
        return MPI_SUCCESS;
      }
      one.send = described(in, from.bytes(), to, complete_at);
      keep_type(one, one.send.bytes.memory(), from.type);
      if (post_or_keep(rank, one)) one.finish(outcome{});
      return MPI_SUCCESS;
    });
  });
}

int start_receive(rank_state& rank, communicator& in, const typed_buffer& into, envelope from,
                  MPI_Request* out) noexcept {
  return guarded([&] {
    request& one = rank.requests.acquire(&in, request_operation::receive);
    one.wanted = from;
    return begin(rank, one, out, [&] {
      if (from.peer == MPI_PROC_NULL) {
        one.finish(outcome_of_no_process);
        return MPI_SUCCESS;
      }
      const buffer_ref bytes = into.bytes();
      keep_type(one, bytes.memory(), into.type);
      one.ticket = post_receive(rank, one, bytes, from).ticket();
      return MPI_SUCCESS;
    });
  });
}

}  // namespace weft::mpi
