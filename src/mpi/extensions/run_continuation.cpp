// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/extensions/run_continuation.hpp"

#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/error/job_end.hpp"
#include "mpi/message/complete.hpp"
#include "mpi/rank/raise.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

[[noreturn]] void end_by_exception(const char* function) noexcept {
  end_job(MPI_ERR_INTERN, "MPIX_Continue: %s has thrown an exception, which no caller can catch", function);
}

// Completes each request, writes its status, and sets its handle to null unless it is persistent. Returns the first
// error in their order; `failure` is its note.
int complete_requests(continuation& ready, failure_note& failure) noexcept {
  int out = MPI_SUCCESS;
  for (std::uint32_t each = 0; each < ready.count; ++each) {
    request* const req = ready.at(each);
    MPI_Status* const status = ready.arrays.statuses != nullptr ? ready.arrays.statuses + each : MPI_STATUS_IGNORE;
    if (req == nullptr) {
      write_status(status, outcome{});
      continue;
    }
    if (req->kind == object_kind::continued_request) req->kind = object_kind::request;
    const bool is_kept = req->is_persistent;
    MPI_Request handle = handle_of(*req);
    const int error = complete(*ready.rank, handle, *req, status);
    if (!is_kept && ready.arrays.handles != nullptr) ready.arrays.handles[each] = MPI_REQUEST_NULL;
    if (error == MPI_SUCCESS) continue;
    failure_note noted = take_failure();
    if (out == MPI_SUCCESS) {
      out = error;
      failure = std::move(noted);
      for (std::uint32_t before = 0; status != MPI_STATUS_IGNORE && before < each; ++before)
        ready.arrays.statuses[before].MPI_ERROR = MPI_SUCCESS;
    }
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
  }
  return out;
}

int call(const continuation& ready, int error) noexcept {
  try {
    return ready.callback(error, ready.data);
  } catch (...) {
    end_by_exception("a callback");
  }
}

// Raises an error of a continuation without a continuation request.
void raise_error(rank_state& rank, int error, const failure_note& failure) noexcept {
  try {
    if (failure.owner != nullptr) {
      fail(error, "%s", failure.text.data());
      fail_in(*failure.owner, error);
    }
    static_cast<void>(raise(rank, failure.owner, error, "MPIX_Continue"));
  } catch (...) {
    end_by_exception("an error handler");
  }
}

}  // namespace

void run_continuation(continuation& ready) noexcept {
  rank_state& rank = *ready.rank;
  failure_note failure;
  const int error = complete_requests(ready, failure);
  const bool is_called = error == MPI_SUCCESS || (ready.flags & MPIX_CONT_INVOKE_FAILED) != 0;
  const int answer = is_called ? call(ready, error) : error;
  registrar* const home = ready.home;
  const bool counts = (ready.flags & MPIX_CONT_FORGET) == 0;
  rank.requests.continuations().release(ready);
  if (answer != MPI_SUCCESS) [[unlikely]] {
    if (home != nullptr) {
      home->note_error(answer);
    } else {
      raise_error(rank, answer, is_called ? failure_note{} : failure);
    }
  }
  if (home == nullptr) return;
  home->end(counts);    // the program may free the continuation request now
  rank.signals.wake();  // a thread that waits for the continuation request may sleep
}

void drop_continuation(continuation& dropped) noexcept {
  rank_state& rank = *dropped.rank;
  for (std::uint32_t each = 0; each < dropped.count; ++each) {
    request* const req = dropped.at(each);
    if (req == nullptr || req == &rank.requests.sent()) continue;
    if (req->kind == object_kind::continued_request) req->kind = object_kind::request;
    if (!req->is_persistent && req->is_done()) rank.requests.release(*req);
  }
  if (dropped.home != nullptr) dropped.home->end((dropped.flags & MPIX_CONT_FORGET) == 0);
  rank.requests.continuations().release(dropped);
}

}  // namespace weft::mpi
