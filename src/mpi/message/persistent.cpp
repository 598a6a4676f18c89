// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/persistent.hpp"

#include <memory>
#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/message/buffered.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

// The request's `send` is the message. Its type must live, as its layout may be used.
class persistent_send final : public request_part {
 public:
  persistent_send(const datatype& type, bool has_peer) noexcept : type_{type}, has_peer_{has_peer} {}
  int start(rank_state& rank, request& req) override {
    if (!has_peer_ || post_or_keep(rank, req)) req.finish(outcome{});
    return MPI_SUCCESS;
  }

 private:
  datatype_ref type_;
  bool has_peer_;  // false: MPI_PROC_NULL
};

class persistent_buffered_send final : public request_part {
 public:
  persistent_buffered_send(const typed_bytes& from, envelope to) noexcept
      : address_{from.address}, count_{from.count}, type_{from.type}, to_{to} {}
  int start(rank_state& rank, request& req) override {
    const int error = send_buffered(rank, req.comm(), {address_, count_, *type_}, to_);
    if (error == MPI_SUCCESS) req.finish(outcome{});
    return error;
  }

 private:
  const void* address_;
  MPI_Count count_;
  datatype_ref type_;
  envelope to_;
};

class persistent_receive final : public request_part {
 public:
  persistent_receive(const typed_buffer& into, envelope from) noexcept
      : type_{into.type}, bytes_{into.bytes()}, from_{from} {}
  int start(rank_state& rank, request& req) override {
    if (from_.peer == MPI_PROC_NULL) {
      req.finish(outcome_of_no_process);
    } else {
      post_receive(rank, req, bytes_, from_);
    }
    return MPI_SUCCESS;
  }

 private:
  datatype_ref type_;
  buffer_ref bytes_;
  envelope from_;
};

request& make(rank_state& rank, communicator& comm, request_operation operation, std::unique_ptr<request_part> owned,
              MPI_Request* handle) {
  request& req = rank.requests.acquire_persistent(&comm, operation, std::move(owned));
  *handle = handle_of(req);
  return req;
}

}  // namespace

int make_send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to, MPI_Request* handle,
              completion_level complete_at) noexcept {
  return guarded([&] {
    const bool has_peer = to.peer != MPI_PROC_NULL;
    request& req =
        make(rank, comm, request_operation::send, std::make_unique<persistent_send>(from.type, has_peer), handle);
    if (has_peer) req.send = described(comm, from.bytes(), to, complete_at);
    return MPI_SUCCESS;
  });
}

int make_buffered_send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
                       MPI_Request* handle) noexcept {
  return guarded([&] {
    make(rank, comm, request_operation::send, std::make_unique<persistent_buffered_send>(from, to), handle);
    return MPI_SUCCESS;
  });
}

int make_receive(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from,
                 MPI_Request* handle) noexcept {
  return guarded([&] {
    make(rank, comm, request_operation::receive, std::make_unique<persistent_receive>(into, from), handle).wanted =
        from;
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
