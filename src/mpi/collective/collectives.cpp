#include "mpi/collective/collectives.hpp"

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/operation.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {
namespace {

int run(communicator& in, const collective& of) {
  of.run(in.members);
  return MPI_SUCCESS;
}

// The elements with the gaps in them and between them, as `combine` takes an array.
std::size_t bytes_of_array(const reduced_buffers& of) noexcept {
  return static_cast<std::size_t>(of.count * of.type.extent());
}
// Weft's buffer for input is empty where it is the output's.
const_buffer_ref input(const reduced_buffers& of) noexcept {
  if (of.from == MPI_IN_PLACE) return {};
  return {of.from, bytes_of_array(of)};
}
buffer_ref output(const reduced_buffers& of) noexcept { return {of.into, bytes_of_array(of)}; }

}  // namespace

int barrier(communicator& in) noexcept {
  return guarded([&] { return run(in, collective::barrier()); });
}

int broadcast(communicator& in, const typed_buffer& buffer, int root) noexcept {
  return guarded([&] { return run(in, collective::broadcast(buffer.bytes(), static_cast<std::uint32_t>(root))); });
}

int reduce(communicator& in, const reduced_buffers& of, MPI_Op op, int root) noexcept {
  return guarded([&] {
    const bool is_root = in.rank == static_cast<std::uint32_t>(root);
    return run(in, collective::reduce(input(of), is_root ? output(of) : buffer_ref{}, *reduction_of(op, of.type),
                                      static_cast<std::uint32_t>(root)));
  });
}

int all_reduce(communicator& in, const reduced_buffers& of, MPI_Op op) noexcept {
  return guarded([&] { return run(in, collective::allreduce(input(of), output(of), *reduction_of(op, of.type))); });
}

}  // namespace weft::mpi
