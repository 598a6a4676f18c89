// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/api/check/types.hpp"

namespace weft::mpi::check {
namespace {

// No process has memory there: the first page is never mapped.
bool is_near_null(std::int64_t address) noexcept { return address > -4096 && address < 4096; }

}  // namespace

int is_buffer_after_all(const void* address, MPI_Count count, const datatype* type) noexcept {
  if (type == nullptr || count < 0) return MPI_SUCCESS;
  std::int64_t bytes = 0;
  if (!type->try_bytes_of(count, bytes))
    return fail(MPI_ERR_COUNT, "the bytes of %lld elements are more than 64 bits hold", static_cast<long long>(count));
  if (bytes == 0) return MPI_SUCCESS;
  if (address == MPI_IN_PLACE) return fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is no buffer here");
  const auto begin = static_cast<std::int64_t>(number_of(address)) + type->true_lower_bound();
  if (!is_predefined(address) || !is_near_null(begin)) return MPI_SUCCESS;
  return fail(MPI_ERR_BUFFER, "%p, with count %lld, of a datatype whose data begin there", address,
              static_cast<long long>(count));
}

}  // namespace weft::mpi::check
