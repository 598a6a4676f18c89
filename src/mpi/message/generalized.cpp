// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/generalized.hpp"

#include "mpi/error/error.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

// An exception that a function of the program throws is MPI_ERR_INTERN: any call that completes the request may be the
// one that calls the function.
class generalized final : public request_part {
 public:
  explicit generalized(const generalized_functions& functions) noexcept : functions_{functions} {}
  // Calls it for a request that the program has freed; for others `complete` has called it.
  ~generalized() override { call_free(); }

  void complete(rank_state& /*rank*/, request& /*self*/, outcome& result) noexcept override {
    describe(result);
    const int error = call_free();
    if (result.error == MPI_SUCCESS) result.error = error;
  }
  void describe(outcome& result) noexcept override {
    MPI_Status status{};
    write_status(&status, result);
    const int error = functions_.query != nullptr ? guarded([&] { return functions_.query(functions_.state, &status); })
                                                  : MPI_SUCCESS;
    result = outcome_of(status);
    result.error = error;
  }
  int cancel(rank_state& /*rank*/, request& req) noexcept override {
    if (functions_.cancel == nullptr) return MPI_SUCCESS;
    return guarded([&] { return functions_.cancel(functions_.state, req.is_done() ? 1 : 0); });
  }

 private:
  int call_free() noexcept {
    MPI_Grequest_free_function* const free = functions_.free;
    functions_.free = nullptr;
    return free != nullptr ? guarded([&] { return free(functions_.state); }) : MPI_SUCCESS;
  }

  generalized_functions functions_;
};

// Finds also a request that the program has freed: the memory of requests stays theirs, and it owns its part still.
request* find_generalized(MPI_Request handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<request*>(handle);
  if (found->kind != object_kind::request && found->kind != object_kind::freed) return nullptr;
  return dynamic_cast<generalized*>(found->owned) != nullptr ? found : nullptr;
}

}  // namespace

int start_generalized(rank_state& rank, const generalized_functions& functions, MPI_Request* handle) noexcept {
  return guarded([&] {
    auto made = std::make_unique<generalized>(functions);
    request& req = rank.requests.acquire(nullptr, request_operation::generalized);
    req.owned = made.release();
    *handle = handle_of(req);
    return MPI_SUCCESS;
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
