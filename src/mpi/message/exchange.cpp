// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/exchange.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

// The bytes of elements, one behind the other.
class packed_copy {
 public:
  packed_copy() = default;
  explicit packed_copy(const typed_buffer& buffer)
      : count_{buffer.count * buffer.type.size()},
        bytes_{std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(count_))} {
    buffer.type.pack(buffer.address, 0, bytes_.get(), static_cast<std::size_t>(count_));
  }
  [[nodiscard]] typed_bytes elements() const noexcept { return {bytes_.get(), count_, *find_datatype(MPI_BYTE)}; }

 private:
  MPI_Count count_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
};

// A send and a receive that have one request: the last one to end ends it, with the receive's status.
class started_exchange final : public request_part {
 public:
  started_exchange(request& whole, const sent_side& sent, const received_side& received)
      : whole_{whole}, sent_type_{sent.bytes.type}, received_type_{received.into.type} {
    for (half* const each : {&sent_, &received_}) {
      each->owner = whole.owner;
      each->both = this;
      each->ended = [](followed_request& self) noexcept { static_cast<half&>(self).both->end_half(); };
    }
    received_.operation = request_operation::receive;
  }

  // Once the receive is posted nothing throws: an error of the send is one of the request.
  void post(rank_state& rank, const sent_side& sent, const received_side& received) {
    if (received.from.peer == MPI_PROC_NULL) {
      received_.finish(outcome_of_no_process);
    } else {
      post_receive(rank, received_, received.into.bytes(), received.from);
    }
    bool is_complete = sent.to.peer == MPI_PROC_NULL;
    const int error = guarded([&] {
      if (is_complete) return MPI_SUCCESS;
      sent_.send = described(whole_.comm(), sent.bytes.bytes(), sent.to, completion_level::local);
      is_complete = post_or_keep(rank, sent_);
      return MPI_SUCCESS;
    });
    if (is_complete || error != MPI_SUCCESS) sent_.finish(outcome{.error = error});
  }
  void keep(packed_copy&& sent) noexcept { copy_ = std::move(sent); }

 private:
  struct half : followed_request {
    started_exchange* both = nullptr;
  };

  void end_half() noexcept {
    // [exchange.end] acq_rel <-> [exchange.end]: the result of the half that ended first.
    if (open_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    outcome result = received_.result;
    if (result.error == MPI_SUCCESS) result.error = sent_.result.error;
    whole_.finish(result);
  }

  request& whole_;
  datatype_ref sent_type_;
  datatype_ref received_type_;
  packed_copy copy_;
  half sent_;
  half received_;
  std::atomic<int> open_{2};
};

int start(rank_state& rank, communicator& comm, const sent_side& sent, const received_side& received,
          packed_copy&& copy, MPI_Request* handle) {
  request& req = rank.requests.acquire(&comm, request_operation::send);
  return begin(rank, req, handle, [&] {
    auto made = std::make_unique<started_exchange>(req, sent, received);
    made->keep(std::move(copy));
    req.owned = made.get();
    made.release()->post(rank, sent, received);
    return MPI_SUCCESS;
  });
}

}  // namespace

int send_and_receive(rank_state& rank, communicator& comm, const sent_side& sent, const received_side& received,
                     MPI_Status* status) noexcept {
  return guarded([&] {
    request coming{request_operation::receive, comm};
    if (received.from.peer == MPI_PROC_NULL) {
      coming.finish(outcome_of_no_process);
    } else {
      post_receive(rank, coming, received.into.bytes(), received.from);
    }
    const int error = sent.to.peer == MPI_PROC_NULL ? MPI_SUCCESS : send(rank, comm, sent.bytes, sent.to);
    wait_for(rank, coming, "MPI_Sendrecv");
    write_status(status, coming.result);
    return error != MPI_SUCCESS ? error : fail_of(coming, coming.result);
  });
}

int start_send_and_receive(rank_state& rank, communicator& comm, const sent_side& sent, const received_side& received,
                           MPI_Request* handle) noexcept {
  return guarded([&] { return start(rank, comm, sent, received, {}, handle); });
}

int replace(rank_state& rank, communicator& comm, const typed_buffer& buffer, envelope to, envelope from,
            MPI_Status* status) noexcept {
  return guarded([&] {
    const packed_copy sent{buffer};
    return send_and_receive(rank, comm, {sent.elements(), to}, {buffer, from}, status);
  });
}

int start_replace(rank_state& rank, communicator& comm, const typed_buffer& buffer, envelope to, envelope from,
                  MPI_Request* handle) noexcept {
  return guarded([&] {
    packed_copy sent{buffer};
    const typed_bytes elements = sent.elements();
    return start(rank, comm, {elements, to}, {buffer, from}, std::move(sent), handle);
  });
}

}  // namespace weft::mpi
