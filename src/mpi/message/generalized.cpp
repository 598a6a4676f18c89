// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/generalized.hpp"

#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/device.hpp"
#include "weft/hook.hpp"

namespace weft::mpi {
namespace {

// An exception that a function of the program throws is MPI_ERR_INTERN: any call that completes the request may be the
// one that calls the function.
class generalized final : public request_part {
 public:
  explicit generalized(const generalized_functions& functions) noexcept : functions_{functions} {}
  // Calls it for a request that the program has freed; for others `complete` has called it.
  ~generalized() override { call_free(); }

  // Progress polls the request from now on, until it is done. **Errors**: std::bad_alloc.
  void poll_in_progress(rank_state& rank, request& req) {
    hook_ = rank.device.add_hook([this, &rank, &req] {
      if (req.is_done()) return hook_answer::done;
      // The program's function may complete the request; if the program has freed it, this object is gone then.
      bool is_gone = false;
      is_gone_ = &is_gone;
      MPI_Status status{};
      const int error = guarded([&] { return functions_.poll(functions_.state, &status); });
      if (is_gone) return hook_answer::done;
      is_gone_ = nullptr;
      if (error != MPI_SUCCESS && !req.is_done()) end_by(rank, req, error);
      return req.is_done() ? hook_answer::done : hook_answer::no_progress;
    });
  }

  void complete(rank_state& /*rank*/, request& /*self*/, outcome& result) noexcept override {
    describe(result);
    const int error = call_free();
    if (result.error == MPI_SUCCESS) result.error = error;
  }
  void describe(outcome& result) noexcept override {
    const int error_before = result.error;
    MPI_Status status{};
    write_status(&status, result);
    const int error = functions_.query != nullptr ? guarded([&] { return functions_.query(functions_.state, &status); })
                                                  : MPI_SUCCESS;
    result = outcome_of(status);
    result.error = error_before != MPI_SUCCESS ? error_before : error;
  }
  void wait(rank_state& rank, request& req) noexcept override {
    if (functions_.wait == nullptr || weft::detail::is_in_callback()) return;
    MPI_Status status{};
    void* state = functions_.state;
    const int error = guarded([&] { return functions_.wait(1, &state, 0, &status); });
    if (error != MPI_SUCCESS && !req.is_done()) end_by(rank, req, error);
  }
  int cancel(rank_state& /*rank*/, request& req) noexcept override {
    if (functions_.cancel == nullptr) return MPI_SUCCESS;
    return guarded([&] { return functions_.cancel(functions_.state, req.is_done() ? 1 : 0); });
  }

 private:
  // A function of the program has failed, by which it makes progress.
  static void end_by(rank_state& rank, request& req, int error) noexcept {
    req.finish(outcome{.error = error});
    rank.signals.count_failure();
    rank.signals.wake();
  }
  int call_free() noexcept {
    hook_.remove();  // waits until no other thread polls
    if (is_gone_ != nullptr) *is_gone_ = true;
    MPI_Grequest_free_function* const free = std::exchange(functions_.free, nullptr);
    return free != nullptr ? guarded([&] { return free(functions_.state); }) : MPI_SUCCESS;
  }

  generalized_functions functions_;
  hook hook_{};
  bool* is_gone_ = nullptr;  // of the poll that runs
};

// Finds also a request that the program has freed: the memory of requests stays theirs, and it owns its part still.
request* find_generalized(MPI_Request handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<request*>(handle);
  // relaxed: another thread may attach a continuation.
  const object_kind kind = std::atomic_ref{found->kind}.load(std::memory_order_relaxed);
  if (kind != object_kind::request && kind != object_kind::continued_request && kind != object_kind::freed)
    return nullptr;
  return dynamic_cast<generalized*>(found->owned) != nullptr ? found : nullptr;
}

}  // namespace

int start_generalized(rank_state& rank, const generalized_functions& functions, MPI_Request* handle) noexcept {
  return guarded([&] {
    auto made = std::make_unique<generalized>(functions);
    request& req = rank.requests.acquire(nullptr, request_operation::generalized);
    generalized& part = *made;
    req.owned = made.release();
    *handle = handle_of(req);
    if (functions.poll == nullptr) return MPI_SUCCESS;
    const int error = guarded([&] {
      part.poll_in_progress(rank, req);
      return MPI_SUCCESS;
    });
    if (error == MPI_SUCCESS) return error;
    *handle = MPI_REQUEST_NULL;
    req.finish(outcome{});
    rank.requests.release(req);
    return error;
  });
}

int complete_generalized(rank_state& rank, MPI_Request handle) noexcept {
  request* const req = find_generalized(handle);
  if (req == nullptr || req->is_done()) return fail(MPI_ERR_REQUEST, "it is no generalized request that is active");
  req->finish(outcome{});
  rank.signals.wake();
  // The program may have freed it, which calls its function now.
  rank.requests.release_done();
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
