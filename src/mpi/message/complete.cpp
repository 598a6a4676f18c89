// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/complete.hpp"

#include "mpi/collective/failed_member.hpp"
#include "mpi/message/complete_fast.hpp"
#include "mpi/message/describe.hpp"
#include "mpi/message/tests.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"
#include "weft/detail/report_names.hpp"

namespace weft::mpi {
namespace {

// Of a request that owns something: as all persistent ones do.
int complete_owner(rank_state& rank, MPI_Request& handle, request& one, MPI_Status* status) noexcept {
  if (!one.is_active) {
    write_status(status, outcome{});
    return MPI_SUCCESS;
  }
  if (one.result.error != MPI_SUCCESS && one.operation == request_operation::collective) [[unlikely]]
    find_cause(rank, one);
  outcome result = one.result;
  one.owned->complete(rank, one, result);
  write_status(status, result);
  const int error = fail_of(one, result);
  if (one.is_persistent) {
    one.is_active = false;
    one.result = outcome{};
  } else {
    rank.requests.release(one);
    handle = MPI_REQUEST_NULL;
  }
  return error;
}

// Of a null request: out of line, so that its outcome takes no room on the stack of the others.
[[gnu::noinline]] int complete_null(MPI_Status* status) noexcept {
  write_status(status, outcome{});
  return MPI_SUCCESS;
}

}  // namespace

int complete(rank_state& rank, MPI_Request& handle, request& one, MPI_Status* status) noexcept {
  if (one.owned != nullptr) [[unlikely]]
    return complete_owner(rank, handle, one, status);
  if (one.result.error != MPI_SUCCESS && one.operation == request_operation::collective) [[unlikely]]
    find_cause(rank, one);
  write_status(status, one.result);
  const int error = fail_of(one, one.result);
  rank.requests.release(one);
  handle = MPI_REQUEST_NULL;
  return error;
}

void wait_longer(rank_state& rank, const request& one, const char* function, bool has_handle) {
  const bool is_known = has_handle || one.operation == request_operation::send;
  weft::detail::wait_as({function, is_known ? &describe_wait : nullptr, &one}, rank.device, rank.signals,
                        [&one] { return one.is_done(); });
}

int wait(rank_state& rank, MPI_Request* handle, MPI_Status* status) noexcept {
  if (*handle == MPI_REQUEST_NULL) return complete_null(status);
  request* const one = find_request(*handle);
  if (one == nullptr) return fail(MPI_ERR_REQUEST, "it is no request");
  return guarded([&] {
    wait_for(rank, *one, "MPI_Wait", true);
    return try_complete(rank, *handle, *one, status) ? MPI_SUCCESS : complete(rank, *handle, *one, status);
  });
}

int test(rank_state& rank, MPI_Request* handle, int* flag, MPI_Status* status) noexcept {
  if (*handle == MPI_REQUEST_NULL) {
    *flag = 1;
    end_tests();
    return complete_null(status);
  }
  request* const one = find_request(*handle);
  if (one == nullptr) return fail(MPI_ERR_REQUEST, "it is no request");
  const bool has_moved = !one->is_done() && rank.device.progress();
  const bool is_done = one->is_done();
  *flag = is_done ? 1 : 0;
  end_test(rank, is_done, has_moved);
  return is_done ? complete(rank, *handle, *one, status) : MPI_SUCCESS;
}

int get_status(rank_state& rank, MPI_Request handle, int* flag, MPI_Status* status) noexcept {
  return get_status_all(rank, 1, &handle, flag, status);
}

}  // namespace weft::mpi
