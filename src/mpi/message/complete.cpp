// Waiting for requests, and testing them.
#include "mpi/datatype/elements.hpp"
#include "mpi/message/point_to_point.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"

namespace weft::mpi {
namespace {

// Takes the result of a request that is done, and gives the request back.
outcome end(rank_state& rank, MPI_Request& handle, request& one) noexcept {
  const outcome result = one.result;
  if (result.error != MPI_SUCCESS) fail_in(*one.of, result.error);
  rank.requests.release(one);
  handle = MPI_REQUEST_NULL;
  return result;
}

}  // namespace

int wait(rank_state& rank, MPI_Request* handle, MPI_Status* status) noexcept {
  if (*handle == MPI_REQUEST_NULL) {
    write_status(status, outcome{});
    return MPI_SUCCESS;
  }
  request* const one = find_request(*handle);
  if (one == nullptr) return fail(MPI_ERR_REQUEST, "it is no request");
  return guarded([&] {
    wait_for(rank, *one);
    const outcome result = end(rank, *handle, *one);
    write_status(status, result);
    return result.error;
  });
}

int wait_all(rank_state& rank, int count, MPI_Request* all, MPI_Status* statuses) noexcept {
  int out = MPI_SUCCESS;
  for (int index = 0; index < count; ++index) {
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
    const int error = wait(rank, &all[index], status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
    if (error != MPI_SUCCESS) out = MPI_ERR_IN_STATUS;
  }
  return out;
}

int test(rank_state& rank, MPI_Request* handle, int* flag, MPI_Status* status) noexcept {
  *flag = 1;
  if (*handle == MPI_REQUEST_NULL) {
    write_status(status, outcome{});
    return MPI_SUCCESS;
  }
  request* const one = find_request(*handle);
  if (one == nullptr) return fail(MPI_ERR_REQUEST, "it is no request");
  if (!one->is_done()) rank.device.progress();
  if (!one->is_done()) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  const outcome result = end(rank, *handle, *one);
  write_status(status, result);
  return result.error;
}

MPI_Count count_of(const MPI_Status& status, const datatype& type) noexcept {
  return count_in(type, static_cast<std::int64_t>(bytes_of(status))).value_or(MPI_UNDEFINED);
}

int get_count(const MPI_Status& status, const datatype& type, int* count) noexcept {
  const MPI_Count found = count_of(status, type);
  *count = found <= INT32_MAX ? static_cast<int>(found) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int get_count(const MPI_Status& status, const datatype& type, MPI_Count* count) noexcept {
  *count = count_of(status, type);
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
