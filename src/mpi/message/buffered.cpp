// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/buffered.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/rank/progress.hpp"

namespace weft::mpi {
namespace {

// A message in a buffer, which gives its room back and destroys itself at its end.
struct buffered_message final : followed_request {
  buffered_message(rank_state& rank, communicator& comm, bsend_buffer& from, const buffered_room& taken) noexcept
      : open{rank.buffered.open}, signals{rank.signals}, buffer{from}, room{taken} {
    owner = &comm;
    owner->add_reference();
    ended = [](followed_request& self) noexcept { delete static_cast<buffered_message*>(&self); };
    // [stat] Its own thread alone knows of it.
    open.fetch_add(1, std::memory_order_relaxed);
  }
  ~buffered_message() {
    // Other threads wait for flushes at the signals of requests: a send that was done at its post signals nothing else.
    if (buffer.release(room)) signals.wake();
    owner->remove_reference();
    // [buffered.end] release -> [buffered.open]: nothing of the rank is used any more.
    open.fetch_sub(1, std::memory_order_release);
  }
  buffered_message(const buffered_message&) = delete;
  buffered_message& operator=(const buffered_message&) = delete;

  std::atomic<std::size_t>& open;
  request_signals& signals;
  bsend_buffer& buffer;
  const buffered_room room;
};

bsend_buffer* find_buffer(rank_state& rank, const communicator& comm) noexcept {
  if (comm.buffer != nullptr && comm.buffer->is_attached()) return comm.buffer.get();
  return rank.buffered.rank_buffer.is_attached() ? &rank.buffered.rank_buffer : nullptr;
}

// The buffer of the rank, or of a communicator; null if it has none.
bsend_buffer* find_attached(rank_state& rank, const communicator* comm) noexcept {
  bsend_buffer* const found = comm == nullptr ? &rank.buffered.rank_buffer : comm->buffer.get();
  return found != nullptr && found->is_attached() ? found : nullptr;
}

int fail_no_buffer() noexcept { return fail(MPI_ERR_BUFFER, "no buffer is attached"); }

// Progress may end messages that are in the buffer.
std::optional<buffered_room> reserve(rank_state& rank, bsend_buffer& buffer, std::size_t bytes) {
  std::optional<buffered_room> out = buffer.try_reserve(bytes);
  while (!out && progress_on_all(rank, rank.device)) out = buffer.try_reserve(bytes);
  return out;
}

void wait_until_empty(rank_state& rank, const bsend_buffer& buffer) {
  if (buffer.is_empty()) return;
  wait_on_all(rank, "MPI_Buffer_detach or MPI_Buffer_flush", rank.device, [&] { return buffer.is_empty(); });
}

template <class Bytes>
int detach(rank_state& rank, const communicator* comm, void* address, Bytes* bytes) noexcept {
  bsend_buffer* const found = find_attached(rank, comm);
  if (found == nullptr) return fail_no_buffer();
  return guarded([&] {
    wait_until_empty(rank, *found);
    const auto [where, size] = found->detach();
    // The argument is the address of a pointer.
    *static_cast<void**>(address) = where;
    *bytes = static_cast<Bytes>(size);
    return size <= static_cast<std::uint64_t>(std::numeric_limits<Bytes>::max()) ? MPI_SUCCESS
                                                                                 : MPI_ERR_VALUE_TOO_LARGE;
  });
}

}  // namespace

int send_buffered(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to) noexcept {
  if (to.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  return guarded([&] {
    bsend_buffer* const buffer = find_buffer(rank, comm);
    if (buffer == nullptr) return fail_no_buffer();
    const auto bytes = static_cast<std::size_t>(from.count * from.type.size());
    const std::optional<buffered_room> room = reserve(rank, *buffer, bytes);
    if (!room) return fail(MPI_ERR_BUFFER, "the buffer has no room for a message of %zu bytes", bytes);
    auto* const message = new (std::nothrow) buffered_message{rank, comm, *buffer, *room};
    if (message == nullptr) {
      if (buffer->release(*room)) rank.signals.wake();
      return fail(MPI_ERR_NO_MEM, "no memory");
    }
    from.type.pack(from.address, 0, room->address, bytes);
    message->send = described(comm, {room->address, bytes}, to, completion_level::local);
    bool is_complete = false;
    const int error = guarded([&] {
      is_complete = post_or_keep(rank, *message);
      return MPI_SUCCESS;
    });
    if (is_complete || error != MPI_SUCCESS) message->finish(outcome{.error = error});
    return error;
  });
}

int start_buffered_send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
                        MPI_Request* handle) noexcept {
  return guarded([&] {
    request& req = rank.requests.acquire(&comm, request_operation::send);
    return begin(rank, req, handle, [&] {
      const int error = send_buffered(rank, comm, from, to);
      if (error == MPI_SUCCESS) req.finish(outcome{});
      return error;
    });
  });
}

int attach_buffer(rank_state& rank, communicator* comm, void* address, MPI_Count bytes) noexcept {
  if (bytes < 0) return fail(MPI_ERR_ARG, "a buffer of %lld bytes", static_cast<long long>(bytes));
  if (address == nullptr) return fail(MPI_ERR_BUFFER, "a null pointer for a buffer");
  return guarded([&] {
    if (comm != nullptr && comm->buffer == nullptr) comm->buffer = std::make_shared<bsend_buffer>();
    bsend_buffer& to = comm != nullptr ? *comm->buffer : rank.buffered.rank_buffer;
    return to.attach(address, static_cast<std::size_t>(bytes));
  });
}

int detach_buffer(rank_state& rank, communicator* comm, void* address, int* bytes) noexcept {
  return detach(rank, comm, address, bytes);
}
int detach_buffer(rank_state& rank, communicator* comm, void* address, MPI_Count* bytes) noexcept {
  return detach(rank, comm, address, bytes);
}

int flush_buffer(rank_state& rank, communicator* comm) noexcept {
  const bsend_buffer* const found = find_attached(rank, comm);
  if (found == nullptr) return MPI_SUCCESS;
  return guarded([&] {
    wait_until_empty(rank, *found);
    return MPI_SUCCESS;
  });
}

int start_flush_of_buffer(rank_state& rank, communicator* comm, MPI_Request* handle) noexcept {
  bsend_buffer* const found = find_attached(rank, comm);
  return guarded([&] {
    request& req = rank.requests.acquire(comm, request_operation::collective);
    return begin(rank, req, handle, [&] {
      if (found == nullptr) {
        req.finish(outcome{});
      } else {
        found->finish_when_sent(req);
      }
      return MPI_SUCCESS;
    });
  });
}

}  // namespace weft::mpi
