// SPDX-License-Identifier: BSD-3-Clause
// The collectives. The callers, the entry points, have checked communicator and root, and of reductions all but the
// buffers; all else is checked here, as it depends on the rank which arguments count.
#pragma once

#include "mpi.h"
#include "mpi/collective/call.hpp"
#include "mpi/message/typed_buffer.hpp"

namespace weft::mpi {

int barrier(const collective_call& call) noexcept;
int broadcast(const collective_call& call, const typed_buffer& buffer, int root) noexcept;

int gather(const collective_call& call, const program_block& sent, const program_block& received, int root) noexcept;
int gather(const collective_call& call, const program_block& sent, const program_blocks& received, int root) noexcept;
int scatter(const collective_call& call, const program_block& sent, const program_block& received, int root) noexcept;
int scatter(const collective_call& call, const program_blocks& sent, const program_block& received, int root) noexcept;
int all_gather(const collective_call& call, const program_block& sent, const program_block& received) noexcept;
int all_gather(const collective_call& call, const program_block& sent, const program_blocks& received) noexcept;
int all_to_all(const collective_call& call, const program_block& sent, const program_block& received) noexcept;
int all_to_all(const collective_call& call, const program_blocks& sent, const program_blocks& received) noexcept;

/// Both buffers of a reduction have one count and type; `from` may be MPI_IN_PLACE.
struct reduced_buffers {
  const void* from;
  void* into;
  MPI_Count count;
  const datatype& type;
};
int reduce(const collective_call& call, const reduced_buffers& buffers, MPI_Op op, int root) noexcept;
int all_reduce(const collective_call& call, const reduced_buffers& buffers, MPI_Op op) noexcept;
/// `count`: of the block of each rank.
int reduce_scatter_block(const collective_call& call, const reduced_buffers& buffers, MPI_Op op) noexcept;
int scan(const collective_call& call, const reduced_buffers& buffers, MPI_Op op) noexcept;
int exscan(const collective_call& call, const reduced_buffers& buffers, MPI_Op op) noexcept;

/// The buffers of a reduction with a count for each rank.
struct scattered_buffers {
  const void* from;
  void* into;
  number_list counts;
  const datatype& type;
};
int reduce_scatter(const collective_call& call, const scattered_buffers& buffers, MPI_Op op) noexcept;

}  // namespace weft::mpi
