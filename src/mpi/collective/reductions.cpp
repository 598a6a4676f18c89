// SPDX-License-Identifier: BSD-3-Clause
// Collectives that combine elements.
#include <array>

#include "mpi/collective/check.hpp"
#include "mpi/collective/collectives.hpp"

namespace weft::mpi {
namespace {

collective_input input(collective_parts& parts, const reduced_buffers& buffers) {
  if (buffers.from == MPI_IN_PLACE) return collective_input::inplace();
  return parts.elements(buffers.from, buffers.count, buffers.type);
}
buffer_ref output(collective_parts& parts, const reduced_buffers& buffers) {
  return parts.elements(buffers.into, buffers.count, buffers.type);
}

// Carries out a reduction whose input and output have equal numbers of elements.
template <class Make>
int carry_out_reduction(const collective_call& call, const reduced_buffers& buffers, MPI_Op op,
                        const Make& make) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const buffer_ref out = output(parts, buffers);
    return make(input(parts, buffers), out, parts.reduction_by(op, buffers.type));
  });
}

// Few elements with gaps, as one MPI_DOUBLE_INT: packed on the stack they are ordinary memory, for which Weft has a
// shorter way than for layouts.
constexpr std::size_t packed_bytes_max = 256;

int all_reduce_packed(communicator& comm, const reduced_buffers& buffers, const reduction& reduction,
                      std::size_t bytes) noexcept {
  std::array<std::byte, packed_bytes_max> packed;
  buffers.type.pack(buffers.from == MPI_IN_PLACE ? buffers.into : buffers.from, 0, packed.data(), bytes);
  const int error = run_directly(comm, [&] {
    return collective::allreduce(collective_input::inplace(), {packed.data(), bytes}, reduction);
  });
  if (error == MPI_SUCCESS) buffers.type.unpack(buffers.into, 0, packed.data(), bytes);
  return error;
}

}  // namespace

int reduce(const collective_call& call, const reduced_buffers& buffers, MPI_Op op, int root) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const auto root_rank = static_cast<std::uint32_t>(root);
    if (call.comm.rank == root_rank)
      return collective::reduce(input(parts, buffers), output(parts, buffers), parts.reduction_by(op, buffers.type),
                                root_rank);
    const const_buffer_ref own = parts.elements(buffers.from, buffers.count, buffers.type);
    return collective::reduce(own, {}, parts.reduction_by(op, buffers.type), root_rank);
  });
}

int all_reduce(const collective_call& call, const reduced_buffers& buffers, MPI_Op op) noexcept {
  const bool is_inplace = buffers.from == MPI_IN_PLACE;
  const reduction* const predefined = find_reduction(op, buffers.type);
  const bool has_buffers = !is_predefined(buffers.into) && (is_inplace || !is_predefined(buffers.from));
  if (call.request == nullptr && predefined != nullptr && has_buffers) [[likely]] {
    std::size_t bytes = 0;
    if (try_bytes_of_piece(buffers.into, buffers.count, buffers.type, bytes)) [[likely]] {
      return run_directly(call.comm, [&] {
        const collective_input input = is_inplace ? collective_input::inplace() : collective_input{buffers.from, bytes};
        return collective::allreduce(input, {buffers.into, bytes}, *predefined);
      });
    }
    const std::size_t elements_max = packed_bytes_max / predefined->element_bytes;
    const auto count = static_cast<std::size_t>(buffers.count);
    if (count <= elements_max)
      return all_reduce_packed(call.comm, buffers, *predefined, count * predefined->element_bytes);
  }
  return carry_out_reduction(call, buffers, op,
                             [](const collective_input& input, const buffer_ref& out, const reduction& reduction) {
                               return collective::allreduce(input, out, reduction);
                             });
}

int scan(const collective_call& call, const reduced_buffers& buffers, MPI_Op op) noexcept {
  return carry_out_reduction(call, buffers, op,
                             [](const collective_input& input, const buffer_ref& out, const reduction& reduction) {
                               return collective::scan(input, out, reduction);
                             });
}

int exscan(const collective_call& call, const reduced_buffers& buffers, MPI_Op op) noexcept {
  return carry_out_reduction(call, buffers, op,
                             [](const collective_input& input, const buffer_ref& out, const reduction& reduction) {
                               return collective::exscan(input, out, reduction);
                             });
}

int reduce_scatter_block(const collective_call& call, const reduced_buffers& buffers, MPI_Op op) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    MPI_Count all = 0;
    if (__builtin_mul_overflow(buffers.count, MPI_Count{call.comm.size}, &all)) [[unlikely]]
      throw refusal{
          fail(MPI_ERR_COUNT, "%lld elements for each rank are too many", static_cast<long long>(buffers.count))};
    const reduction reduction = parts.reduction_by(op, buffers.type);
    if (buffers.from == MPI_IN_PLACE)
      return collective::reduce_scatter(collective_input::inplace(), parts.elements(buffers.into, all, buffers.type),
                                        reduction);
    return collective::reduce_scatter(parts.elements(buffers.from, all, buffers.type), output(parts, buffers),
                                      reduction);
  });
}

int reduce_scatter(const collective_call& call, const scattered_buffers& buffers, MPI_Op op) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const block_lists& lists = parts.lists(call, buffers.counts, buffers.type);
    const std::int64_t size = std::max<std::int64_t>(buffers.type.size(), 1);
    const MPI_Count all = static_cast<MPI_Count>(lists.end()) / size, own = buffers.counts[call.comm.rank];
    const reduction reduction = parts.reduction_by(op, buffers.type);
    if (buffers.from == MPI_IN_PLACE)
      return collective::reduce_scatter(collective_input::inplace(), parts.elements(buffers.into, all, buffers.type),
                                        reduction, lists.all());
    const const_buffer_ref input = parts.elements(buffers.from, all, buffers.type);
    return collective::reduce_scatter(input, parts.elements(buffers.into, own, buffers.type), reduction, lists.all());
  });
}

}  // namespace weft::mpi
