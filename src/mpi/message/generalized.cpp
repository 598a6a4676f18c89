// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/generalized.hpp"

#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"

namespace weft::mpi {
namespace {

// An exception that a function of the program throws is MPI_ERR_INTERN: any call that completes the request may be the
// one that calls the function.
class generalized final : public request_part {
 public:
  explicit generalized(const generalized_functions& by) noexcept : by_{by} {}
  // Of a request that the program has freed; else `complete` has called it.
  ~generalized() override { call_free(); }

  void complete(rank_state& /*rank*/, request& /*of*/, outcome& result) noexcept override {
    describe(result);
    const int error = call_free();
    if (result.error == MPI_SUCCESS) result.error = error;
  }
  void describe(outcome& result) noexcept override {
    MPI_Status status{};
    write_status(&status, result);
    const int error = by_.query != nullptr ? guarded([&] { return by_.query(by_.state, &status); }) : MPI_SUCCESS;
    result = outcome_of(status);
    result.error = error;
  }
  int cancel(rank_state& /*rank*/, request& of) noexcept override {
    if (by_.cancel == nullptr) return MPI_SUCCESS;
    return guarded([&] { return by_.cancel(by_.state, of.is_done() ? 1 : 0); });
  }

 private:
  int call_free() noexcept {
    MPI_Grequest_free_function* const free = by_.free;
    by_.free = nullptr;
    return free != nullptr ? guarded([&] { return free(by_.state); }) : MPI_SUCCESS;
  }

  generalized_functions by_;
};

// Also of a request that the program has freed: the memory of requests stays theirs, and it owns its part still.
request* find_generalized(MPI_Request handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<request*>(handle);
  if (found->kind != object_kind::request && found->kind != object_kind::freed) return nullptr;
  return dynamic_cast<generalized*>(found->owned) != nullptr ? found : nullptr;
}

}  // namespace

int start_generalized(rank_state& rank, const generalized_functions& by, MPI_Request* handle) noexcept {
  return guarded([&] {
    auto made = std::make_unique<generalized>(by);
    request& one = rank.requests.acquire(nullptr, request_operation::generalized);
    one.owned = made.release();
    *handle = handle_of(one);
    return MPI_SUCCESS;
  });
}

int complete_generalized(rank_state& rank, MPI_Request handle) noexcept {
  request* const one = find_generalized(handle);
  if (one == nullptr || one->is_done()) return fail(MPI_ERR_REQUEST, "it is no generalized request that is active");
  one->finish(outcome{});
  rank.signals.wake();
  // The program may have freed it, which calls its function now.
  rank.requests.release_done();
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
