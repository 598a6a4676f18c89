// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/extensions/stream_messages.hpp"

#include <memory>
#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/message/post.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/objects/stream.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

std::uint32_t streams_of(const communicator& comm, int member) noexcept {
  return comm.route.lanes.empty() ? 1 : comm.route.streams->count(static_cast<std::uint32_t>(member));
}

int check_index(const communicator& comm, int member, int index, const char* side) noexcept {
  const std::uint32_t count = member == MPI_PROC_NULL ? 1 : streams_of(comm, member);
  if (index >= 0 && (member == MPI_PROC_NULL || static_cast<std::uint32_t>(index) < count)) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "%s stream %d of %u", side, index, count);
}

int check_send(const communicator& comm, envelope to, stream_indices indices) noexcept {
  const int error = check_index(comm, static_cast<int>(comm.rank), indices.source, "source");
  return error != MPI_SUCCESS ? error : check_index(comm, to.peer, indices.destination, "destination");
}

// The source's index says nothing where the source is any.
int check_receive(const communicator& comm, envelope from, stream_indices indices) noexcept {
  const int error = check_index(comm, static_cast<int>(comm.rank), indices.destination, "destination");
  if (error != MPI_SUCCESS || from.peer == MPI_ANY_SOURCE) return error;
  return check_index(comm, from.peer, indices.source, "source");
}

communicator& lane_of(communicator& comm, int index) noexcept {
  return comm.route.lanes.empty() ? comm : *comm.route.lanes[static_cast<std::size_t>(index)];
}

// A send by the stream of `own`, which ends there, to a stream of the peer's, in whose engine it is numbered.
described_send described_between(const communicator& own, const_buffer_ref bytes, envelope to,
                                 int destination) noexcept {
  described_send out = described(own, bytes, to, completion_level::local);
  if (own.route.lanes.empty()) return out;
  out.device = own.route.streams->device(static_cast<std::uint32_t>(to.peer), static_cast<std::uint32_t>(destination));
  out.lane = static_cast<std::uint16_t>(destination);
  return out;
}

// Of a send that waits to be posted: the lane in whose engine that will be, after the communicator's handle is freed
// too.
class kept_lane final : public request_part {
 public:
  kept_lane(communicator& lane, request_part* rest) noexcept : lane_{lane}, rest_{rest} { lane_.add_reference(); }
  ~kept_lane() override { lane_.remove_reference(); }

 private:
  communicator& lane_;
  std::unique_ptr<request_part> rest_;
};

}  // namespace

int send_by_stream(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
                   stream_indices indices) noexcept {
  if (const int error = check_send(comm, to, indices); error != MPI_SUCCESS) return error;
  if (to.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  return guarded([&] {
    request req{request_operation::send, lane_of(comm, indices.source)};
    req.send = described_between(req.comm(), from.bytes(), to, indices.destination);
    if (!post_or_keep(rank, req)) wait_for(rank, req, "MPIX_Stream_send");
    return req.result.error;
  });
}

int start_send_by_stream(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
                         stream_indices indices, MPI_Request* request) noexcept {
  if (const int error = check_send(comm, to, indices); error != MPI_SUCCESS) return error;
  communicator& own = lane_of(comm, indices.source);
  if (comm.route.lanes.empty() || to.peer == MPI_PROC_NULL) return start_send(rank, own, from, to, request);
  return guarded([&] {
    mpi::request& req = rank.requests.acquire(&own, request_operation::send);
    return begin(rank, req, request, [&] {
      req.send = described_between(own, from.bytes(), to, indices.destination);
      keep_type(req, req.send.bytes.memory(), from.type);
      communicator& lane = *own.route.lanes[req.send.lane];
      if (post_or_keep(rank, req)) {
        req.finish(outcome{});
      } else if (&lane != &own && !own.route.pending.sends.is_empty()) {
        req.owned = new kept_lane{lane, req.owned};
      }
      return MPI_SUCCESS;
    });
  });
}

int receive_by_stream(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from,
                      stream_indices indices, MPI_Status* status) noexcept {
  if (const int error = check_receive(comm, from, indices); error != MPI_SUCCESS) return error;
  if (from.peer == MPI_PROC_NULL) return write_no_process(status);
  return receive(rank, lane_of(comm, indices.destination), into, from, status);
}

int start_receive_by_stream(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from,
                            stream_indices indices, MPI_Request* request) noexcept {
  if (const int error = check_receive(comm, from, indices); error != MPI_SUCCESS) return error;
  return start_receive(rank, lane_of(comm, indices.destination), into, from, request);
}

}  // namespace weft::mpi
