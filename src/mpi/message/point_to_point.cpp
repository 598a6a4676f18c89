// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/point_to_point.hpp"

#include "mpi/error/error.hpp"
#include "mpi/message/fast_messages.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

const char* name_of_send(completion_level complete_at) noexcept {
  return complete_at == when_matched ? "MPI_Ssend" : "MPI_Send";
}

}  // namespace

int send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
         completion_level complete_at) noexcept {
  return guarded([&] {
    request req{request_operation::send, comm};
    req.send = described(comm, from.bytes(), to, complete_at);
    if (!post_or_keep(rank, req)) wait_for(rank, req, name_of_send(complete_at));
    return req.result.error;
  });
}

int end_send(rank_state& rank, request& req, const described_send& send, status answer) {
  req.send = send;
  if (answer.is_retry()) req.comm().route.pending.sends.add(req, true);
  wait_for(rank, req, name_of_send(send.complete_at));
  return req.result.error;
}

int receive(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from,
            MPI_Status* status) noexcept {
  return guarded([&] {
    request req{request_operation::receive, comm};
    post_receive(rank, req, into.bytes(), from);
    wait_for(rank, req, "MPI_Recv");
    write_status(status, req.result);
    return fail_of(req, req.result);
  });
}

int start_send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to, MPI_Request* out,
               completion_level complete_at) noexcept {
  return guarded([&] {
    request& req = rank.requests.acquire(&comm, request_operation::send);
    return begin(rank, req, out, [&] {
      if (to.peer == MPI_PROC_NULL) {
        req.finish(outcome{});
        return MPI_SUCCESS;
      }
      req.send = described(comm, from.bytes(), to, complete_at);
      keep_type(req, req.send.bytes.memory(), from.type);
      if (post_or_keep(rank, req)) req.finish(outcome{});
      return MPI_SUCCESS;
    });
  });
}

int start_receive(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from,
                  MPI_Request* out) noexcept {
  return guarded([&] {
    request& req = rank.requests.acquire(&comm, request_operation::receive);
    req.wanted = from;
    return begin(rank, req, out, [&] {
      if (from.peer == MPI_PROC_NULL) {
        req.finish(outcome_of_no_process);
        return MPI_SUCCESS;
      }
      const buffer_ref bytes = into.bytes();
      keep_type(req, bytes.memory(), into.type);
      post_receive(rank, req, bytes, from);
      return MPI_SUCCESS;
    });
  });
}

}  // namespace weft::mpi
