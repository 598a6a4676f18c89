// Sends, receives, and waiting for them. Arguments are checked by the callers, the entry points.
#pragma once

#include <span>

#include "mpi.h"
#include "mpi/message/typed_buffer.hpp"

namespace weft::mpi {

struct communicator;
struct rank_state;

/// Peer and tag of one side of a message, as in the communicator.
struct envelope {
  int peer;
  int tag;
};

int send(rank_state& rank, communicator& in, const typed_bytes& from, envelope to) noexcept;
int receive(rank_state& rank, communicator& in, const typed_buffer& into, envelope from, MPI_Status* status) noexcept;
/// `request` is given also where the operation is complete already.
int start_send(rank_state& rank, communicator& in, const typed_bytes& from, envelope to, MPI_Request* request) noexcept;
int start_receive(rank_state& rank, communicator& in, const typed_buffer& into, envelope from,
                  MPI_Request* request) noexcept;

struct sent_side {
  typed_bytes bytes;
  envelope to;
};
struct received_side {
  typed_buffer into;
  envelope from;
};
int send_and_receive(rank_state& rank, communicator& in, const sent_side& sent, const received_side& received,
                     MPI_Status* status) noexcept;

int wait(rank_state& rank, MPI_Request* one, MPI_Status* status) noexcept;
int wait_all(rank_state& rank, int count, MPI_Request* all, MPI_Status* statuses) noexcept;
int test(rank_state& rank, MPI_Request* one, int* flag, MPI_Status* status) noexcept;

/// The number of elements that a status tells of, or MPI_UNDEFINED.
MPI_Count count_of(const MPI_Status& status, const datatype& type) noexcept;
int get_count(const MPI_Status& status, const datatype& type, int* count) noexcept;
int get_count(const MPI_Status& status, const datatype& type, MPI_Count* count) noexcept;

}  // namespace weft::mpi
