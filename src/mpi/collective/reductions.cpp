// SPDX-License-Identifier: BSD-3-Clause
// Collectives that combine elements.
#include <array>

#include "mpi/collective/check.hpp"
#include "mpi/collective/collectives.hpp"

namespace weft::mpi {
namespace {

collective_input input(collective_parts& parts, const reduced_buffers& of) {
  if (of.from == MPI_IN_PLACE) return collective_input::inplace();
  return parts.elements(of.from, of.count, of.type);
}
buffer_ref output(collective_parts& parts, const reduced_buffers& of) {
  return parts.elements(of.into, of.count, of.type);
}

// Of those whose input and output have as many elements.
template <class Make>
int carry_out_reduction(const collective_call& as, const reduced_buffers& of, MPI_Op op, const Make& make) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const buffer_ref out = output(parts, of);
    return make(input(parts, of), out, parts.reduction_by(op, of.type));
  });
}

// Few elements with gaps, as one MPI_DOUBLE_INT: packed on the stack they are ordinary memory, for which Weft has a
// shorter way than for layouts.
constexpr std::size_t packed_bytes_max = 256;

int all_reduce_packed(communicator& in, const reduced_buffers& of, const reduction& by, std::size_t bytes) noexcept {
  std::array<std::byte, packed_bytes_max> packed;
  of.type.pack(of.from == MPI_IN_PLACE ? of.into : of.from, 0, packed.data(), bytes);
  const int error = run_directly(in, [&] {
    return collective::allreduce(collective_input::inplace(), {packed.data(), bytes}, by);
  });
  if (error == MPI_SUCCESS) of.type.unpack(of.into, 0, packed.data(), bytes);
  return error;
}

}  // namespace

int reduce(const collective_call& as, const reduced_buffers& of, MPI_Op op, int root) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const auto at = static_cast<std::uint32_t>(root);
    if (as.in.rank == at)
      return collective::reduce(input(parts, of), output(parts, of), parts.reduction_by(op, of.type), at);
    const const_buffer_ref own = parts.elements(of.from, of.count, of.type);
    return collective::reduce(own, {}, parts.reduction_by(op, of.type), at);
  });
}

int all_reduce(const collective_call& as, const reduced_buffers& of, MPI_Op op) noexcept {
  const bool is_inplace = of.from == MPI_IN_PLACE;
  const reduction* const predefined = find_reduction(op, of.type);
  const bool has_buffers = !is_predefined(of.into) && (is_inplace || !is_predefined(of.from));
  if (as.request == nullptr && predefined != nullptr && has_buffers) [[likely]] {
    std::size_t bytes = 0;
    if (try_bytes_of_piece(of.into, of.count, of.type, bytes)) [[likely]] {
      return run_directly(as.in, [&] {
        const collective_input in = is_inplace ? collective_input::inplace() : collective_input{of.from, bytes};
        return collective::allreduce(in, {of.into, bytes}, *predefined);
      });
    }
    const std::size_t elements_max = packed_bytes_max / predefined->element_bytes;
    const auto count = static_cast<std::size_t>(of.count);
    if (count <= elements_max) return all_reduce_packed(as.in, of, *predefined, count * predefined->element_bytes);
  }
  return carry_out_reduction(as, of, op, [](const collective_input& in, const buffer_ref& out, const reduction& by) {
    return collective::allreduce(in, out, by);
  });
}

int scan(const collective_call& as, const reduced_buffers& of, MPI_Op op) noexcept {
  return carry_out_reduction(as, of, op, [](const collective_input& in, const buffer_ref& out, const reduction& by) {
    return collective::scan(in, out, by);
  });
}

int exscan(const collective_call& as, const reduced_buffers& of, MPI_Op op) noexcept {
  return carry_out_reduction(as, of, op, [](const collective_input& in, const buffer_ref& out, const reduction& by) {
    return collective::exscan(in, out, by);
  });
}

int reduce_scatter_block(const collective_call& as, const reduced_buffers& of, MPI_Op op) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    MPI_Count all = 0;
    if (__builtin_mul_overflow(of.count, MPI_Count{as.in.size}, &all)) [[unlikely]]
      throw refusal{fail(MPI_ERR_COUNT, "%lld elements for each rank are too many", static_cast<long long>(of.count))};
    const reduction by = parts.reduction_by(op, of.type);
    if (of.from == MPI_IN_PLACE)
      return collective::reduce_scatter(collective_input::inplace(), parts.elements(of.into, all, of.type), by);
    return collective::reduce_scatter(parts.elements(of.from, all, of.type), output(parts, of), by);
  });
}

int reduce_scatter(const collective_call& as, const scattered_buffers& of, MPI_Op op) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const block_lists& lists = parts.lists(as, of.counts, of.type);
    const std::int64_t size = std::max<std::int64_t>(of.type.size(), 1);
    const MPI_Count all = static_cast<MPI_Count>(lists.end()) / size, own = of.counts[as.in.rank];
    const reduction by = parts.reduction_by(op, of.type);
    if (of.from == MPI_IN_PLACE)
      return collective::reduce_scatter(collective_input::inplace(), parts.elements(of.into, all, of.type), by,
                                        lists.all());
    const const_buffer_ref in = parts.elements(of.from, all, of.type);
    return collective::reduce_scatter(in, parts.elements(of.into, own, of.type), by, lists.all());
  });
}

}  // namespace weft::mpi
