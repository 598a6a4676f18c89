#include "mpi/message/point_to_point.hpp"

#include "mpi/message/post_send.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"

namespace weft::mpi {
namespace {

unposted_send described(const communicator& in, const typed_bytes& from, envelope to) noexcept {
  return {.bytes = from.bytes(), .peer = in.world_rank(to.peer), .tag = to.tag};
}

// Posts a send, or leaves it to the unposted ones. Returns whether it is complete.
bool post_or_keep(rank_state& rank, request& one) {
  if (!rank.unposted.is_empty() && rank.unposted.add(one, false)) return false;
  const status answer = post_send(rank.device, rank.signals, one);
  if (answer.is_retry()) rank.unposted.add(one, true);
  return answer.is_done();
}

accepted_status post_receive(rank_state& rank, communicator& in, const typed_buffer& into, envelope from,
                             request& context) {
  const bool is_any = from.tag == MPI_ANY_TAG;
  const post_recv_options options{.tag = is_any ? 0 : static_cast<std::uint64_t>(from.tag),
                                  .engine = in.engine,
                                  .any_tag = is_any,
                                  .context = &context};
  const std::uint32_t peer = from.peer == MPI_ANY_SOURCE ? any_rank : in.world_rank(from.peer);
  return rank.device.until_accepted([&] { return rank.device.post_recv(peer, into.bytes(), rank.signals, options); });
}

}  // namespace

int send(rank_state& rank, communicator& in, const typed_bytes& from, envelope to) noexcept {
  return guarded([&] {
    request one{.of = &in, .send = described(in, from, to)};
    if (!post_or_keep(rank, one)) wait_for(rank, one);
    return one.result.error;
  });
}

int receive(rank_state& rank, communicator& in, const typed_buffer& into, envelope from, MPI_Status* status) noexcept {
  return guarded([&] {
    request one{.is_receive = true, .of = &in};
    post_receive(rank, in, into, from, one);
    wait_for(rank, one);
    write_status(status, one.result);
    return one.result.error;
  });
}

int start_send(rank_state& rank, communicator& in, const typed_bytes& from, envelope to, MPI_Request* out) noexcept {
  return guarded([&] {
    request& one = rank.requests.acquire(in, false);
    *out = handle_of(one);
    if (to.peer == MPI_PROC_NULL) {
      one.finish(outcome{});
      return MPI_SUCCESS;
    }
    one.send = described(in, from, to);
    const int error = guarded([&] {
      if (post_or_keep(rank, one)) one.finish(outcome{});
      return MPI_SUCCESS;
    });
    if (error != MPI_SUCCESS) {
      rank.requests.release(one);
      *out = MPI_REQUEST_NULL;
    }
    return error;
  });
}

int start_receive(rank_state& rank, communicator& in, const typed_buffer& into, envelope from,
                  MPI_Request* out) noexcept {
  return guarded([&] {
    request& one = rank.requests.acquire(in, true);
    *out = handle_of(one);
    if (from.peer == MPI_PROC_NULL) {
      one.finish(outcome_of_no_process);
      return MPI_SUCCESS;
    }
    const int error = guarded([&] {
      post_receive(rank, in, into, from, one);
      return MPI_SUCCESS;
    });
    if (error != MPI_SUCCESS) {
      rank.requests.release(one);
      *out = MPI_REQUEST_NULL;
    }
    return error;
  });
}

int send_and_receive(rank_state& rank, communicator& in, const sent_side& sent, const received_side& received,
                     MPI_Status* status) noexcept {
  return guarded([&] {
    request coming{.is_receive = true, .of = &in};
    if (received.from.peer == MPI_PROC_NULL) {
      coming.finish(outcome_of_no_process);
    } else {
      post_receive(rank, in, received.into, received.from, coming);
    }
    const int error = sent.to.peer == MPI_PROC_NULL ? MPI_SUCCESS : send(rank, in, sent.bytes, sent.to);
    wait_for(rank, coming);
    write_status(status, coming.result);
    return error != MPI_SUCCESS ? error : coming.result.error;
  });
}

}  // namespace weft::mpi
