// Collectives that wait. Arguments are checked by the callers, the entry points.
#pragma once

#include "mpi.h"
#include "mpi/message/typed_buffer.hpp"

namespace weft::mpi {

struct communicator;

int barrier(communicator& in) noexcept;
int broadcast(communicator& in, const typed_buffer& buffer, int root) noexcept;

/// Both buffers of a reduction have one count and type; `from` may be MPI_IN_PLACE.
struct reduced_buffers {
  const void* from;
  void* into;
  MPI_Count count;
  const datatype& type;
};
int reduce(communicator& in, const reduced_buffers& of, MPI_Op op, int root) noexcept;
int all_reduce(communicator& in, const reduced_buffers& of, MPI_Op op) noexcept;

}  // namespace weft::mpi
