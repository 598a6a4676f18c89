// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/counts.hpp"

#include <cstdint>
#include <optional>

#include "mpi/datatype/elements.hpp"
#include "mpi/error/error.hpp"
#include "mpi/objects/status.hpp"

namespace weft::mpi {
namespace {

MPI_Count count_of(const MPI_Status& status, const datatype& type) noexcept {
  return count_in(type, static_cast<std::int64_t>(bytes_of(status))).value_or(MPI_UNDEFINED);
}

int fail_no_status() noexcept { return fail(MPI_ERR_ARG, "it is no status"); }

}  // namespace

int get_count(const MPI_Status& status, const datatype& type, int* count) noexcept {
  const MPI_Count found = count_of(status, type);
  *count = found <= INT32_MAX ? static_cast<int>(found) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int get_count(const MPI_Status& status, const datatype& type, MPI_Count* count) noexcept {
  *count = count_of(status, type);
  return MPI_SUCCESS;
}

int test_cancelled(const MPI_Status& status, int* flag) noexcept {
  *flag = outcome_of(status).is_cancelled ? 1 : 0;
  return MPI_SUCCESS;
}

int set_elements(MPI_Status* status, const datatype& type, MPI_Count count) noexcept {
  if (status == MPI_STATUS_IGNORE) return fail_no_status();
  const std::optional<std::int64_t> bytes = count == 0 ? 0 : bytes_of_elements(type, count);
  if (!bytes)
    return fail(MPI_ERR_COUNT, "%lld elements of datatype %s", static_cast<long long>(count), type.name().c_str());
  outcome result = outcome_of(*status);
  result.bytes = static_cast<std::uint64_t>(*bytes);
  write_status(status, result);
  return MPI_SUCCESS;
}

int set_cancelled(MPI_Status* status, int flag) noexcept {
  if (status == MPI_STATUS_IGNORE) return fail_no_status();
  outcome result = outcome_of(*status);
  result.is_cancelled = flag != 0;
  write_status(status, result);
  return MPI_SUCCESS;
}

int set_field(MPI_Status* status, int MPI_Status::*field, int value) noexcept {
  if (status == MPI_STATUS_IGNORE) return fail_no_status();
  status->*field = value;
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
