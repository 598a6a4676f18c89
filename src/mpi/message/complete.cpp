// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/complete.hpp"

#include "mpi/error/error.hpp"
#include "mpi/message/complete_fast.hpp"
#include "mpi/message/describe.hpp"
#include "mpi/message/failed_member.hpp"
#include "mpi/message/tests.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/detail/fiber_words.hpp"
#include "weft/detail/report_names.hpp"

namespace weft::mpi {
namespace {

// Completes a request that owns a part: all persistent ones do.
int complete_owner(rank_state& rank, MPI_Request& handle, request& req, MPI_Status* status) noexcept {
  if (!req.is_active) {
    write_status(status, outcome{});
    return MPI_SUCCESS;
  }
  if (req.result.error != MPI_SUCCESS && req.operation == request_operation::collective) [[unlikely]]
    find_cause(rank, req);
  outcome result = req.result;
  req.owned->complete(rank, req, result);
  write_status(status, result);
  const int error = fail_of(req, result);
  if (req.is_persistent) {
    req.is_active = false;
    req.result = outcome{};
  } else {
    rank.requests.release(req);
    handle = MPI_REQUEST_NULL;
  }
  return error;
}

// Completes a null request: out of line, so that its outcome takes no room on the stack of the others.
[[gnu::noinline]] int complete_null(MPI_Status* status) noexcept {
  write_status(status, outcome{});
  return MPI_SUCCESS;
}

}  // namespace

int complete(rank_state& rank, MPI_Request& handle, request& req, MPI_Status* status) noexcept {
  if (req.owned != nullptr) [[unlikely]]
    return complete_owner(rank, handle, req, status);
  if (req.result.error != MPI_SUCCESS && req.operation == request_operation::collective) [[unlikely]]
    find_cause(rank, req);
  write_status(status, req.result);
  const int error = fail_of(req, req.result);
  rank.requests.release(req);
  handle = MPI_REQUEST_NULL;
  return error;
}

namespace {

// MPI_Wait and MPI_Test of a continuation request, or of a handle that they refuse.
[[gnu::cold, gnu::noinline]] int wait_for_continuations(rank_state& rank, MPI_Request* handle,
                                                        MPI_Status* status) noexcept {
  request* const req = find_request(*handle);
  if (req == nullptr) return fail_request(*handle);
  if (!req->is_done()) {
    if (weft::detail::is_in_callback()) return fail_in_callback();
    req->owned->wait(rank, *req);
  }
  return complete(rank, *handle, *req, status);
}
[[gnu::cold, gnu::noinline]] int test_continuations(rank_state& rank, MPI_Request* handle, int* flag,
                                                    MPI_Status* status) noexcept {
  request* const req = find_request(*handle);
  if (req == nullptr) return fail_request(*handle);
  const bool has_moved = !req->is_done() && req->owned->advance(rank, *req);
  const bool is_done = req->is_done();
  *flag = is_done ? 1 : 0;
  end_test(rank, is_done, has_moved);
  return is_done ? complete(rank, *handle, *req, status) : MPI_SUCCESS;
}

// Whether a signal wakes the thread that waits for the request.
bool has_ended(const void* req) noexcept { return static_cast<const request*>(req)->is_done(); }

}  // namespace

void wait_longer(rank_state& rank, request& req, const char* function, bool has_handle) {
  if (wait_as_fiber(rank, req, function)) return;
  const bool is_known = has_handle || req.operation == request_operation::send;
  weft::detail::wait_as({function, is_known ? &describe_wait : nullptr, &req, {&has_ended, &req}}, device_of(rank, req),
                        rank.signals, [&req] { return req.is_done(); });
}

int wait(rank_state& rank, MPI_Request* handle, MPI_Status* status) noexcept {
  if (*handle == MPI_REQUEST_NULL) return complete_null(status);
  request* const req = find_operation_request(*handle);
  if (req == nullptr) return wait_for_continuations(rank, handle, status);
  return guarded([&] {
    wait_for(rank, *req, "MPI_Wait", true);
    return try_complete(rank, *handle, *req, status) ? MPI_SUCCESS : complete(rank, *handle, *req, status);
  });
}

int test(rank_state& rank, MPI_Request* handle, int* flag, MPI_Status* status) noexcept {
  if (*handle == MPI_REQUEST_NULL) {
    *flag = 1;
    end_tests();
    return complete_null(status);
  }
  request* const req = find_operation_request(*handle);
  if (req == nullptr) return test_continuations(rank, handle, flag, status);
  const bool has_moved = !req->is_done() && device_of(rank, *req).progress();
  const bool is_done = req->is_done();
  *flag = is_done ? 1 : 0;
  end_test(rank, is_done, has_moved);
  return is_done ? complete(rank, *handle, *req, status) : MPI_SUCCESS;
}

int get_status(rank_state& rank, MPI_Request handle, int* flag, MPI_Status* status) noexcept {
  return get_status_all(rank, 1, &handle, flag, status);
}

}  // namespace weft::mpi
