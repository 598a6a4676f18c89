// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collective/call.hpp"

#include "mpi/collective/check.hpp"
#include "mpi/objects/datatype_handle.hpp"

namespace weft::mpi {

buffer_ref collective_parts::elements(const void* address, MPI_Count count, const datatype& type) {
  if (check::bytes_of(count, type) == 0) return no_bytes();
  require(check::buffer(address, count, &type));
  if (keeps_types_ && !type.is_predefined()) all().types.emplace_back(type);
  return type.buffer(const_cast<void*>(address), count);
}

buffer_ref collective_parts::elements(const program_block& block, std::uint64_t times) {
  const datatype* const type = find_datatype(block.type);
  require(check::committed_type(type));
  require(check::count(block.count));
  MPI_Count count = 0;
  if (__builtin_mul_overflow(block.count, times, &count)) [[unlikely]]
    throw refusal{fail(MPI_ERR_COUNT, "%lld elements for each rank are too many", static_cast<long long>(block.count))};
  return elements(block.address, count, *type);
}

block_buffer& collective_parts::blocks(const collective_call& call, const program_blocks& described) {
  auto& free = all().blocks[0] ? all().blocks[1] : all().blocks[0];
  return free.emplace(call.comm.size, described);
}

block_lists& collective_parts::lists(const collective_call& call, number_list counts, const datatype& type) {
  return all().lists.emplace(call.comm.size, counts, type);
}

reduction collective_parts::reduction_by(MPI_Op op, const datatype& type) {
  if (const reduction* const predefined = find_reduction(op, type)) [[likely]]
    return *predefined;
  return all().user.emplace(*find_operation(op), type).reduction();
}

}  // namespace weft::mpi
