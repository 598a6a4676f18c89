// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/types.hpp"

#include <string_view>

namespace weft::mpi::check {
namespace {

// No process has memory there: the first page is never mapped.
bool is_near_null(std::int64_t address) noexcept { return address > -4096 && address < 4096; }

}  // namespace

error_class null_buffer(const void* address, MPI_Count count, const datatype* type) noexcept {
  if (type == nullptr || count < 0) return error_class::success;
  std::int64_t bytes = 0;
  if (!type->try_bytes_of(count, bytes))
    return error_class{
        fail(MPI_ERR_COUNT, "the bytes of %lld elements are more than 64 bits hold", static_cast<long long>(count))};
  if (bytes == 0) return error_class::success;
  if (address == MPI_IN_PLACE) return error_class{fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is no buffer here")};
  const auto begin = static_cast<std::int64_t>(number_of(address)) + type->true_lower_bound();
  if (!is_predefined(address) || !is_near_null(begin)) return error_class::success;
  return error_class{fail(MPI_ERR_BUFFER, "%p, with count %lld, of a datatype whose data begin there", address,
                          static_cast<long long>(count))};
}

error_class datarep(const char* name) noexcept {
  if (std::string_view{name} == "external32") return error_class::success;
  return error_class{
      fail(MPI_ERR_UNSUPPORTED_DATAREP, "the only data representation of packed data is \"external32\"")};
}

}  // namespace weft::mpi::check
