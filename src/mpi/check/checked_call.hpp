// SPDX-License-Identifier: BSD-3-Clause
// A call of MPI at a rank whose calls are checked (WEFT_CHECK=1), while it lasts. The entry points make one.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi.h"
#include "mpi/error/error.hpp"
#include "mpi/objects/call_checks.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/detail/fiber_words.hpp"

namespace weft::mpi {

class checked_call {
 public:
  /// `function`: of MPI, of static storage. Inside a function of the program that progress calls, any thread may call:
  /// the library has chosen the thread.
  checked_call(rank_state& rank, const char* function) noexcept
      : rank_{rank}, checks_{*rank.session.checks}, function_{function} {
    if (weft::detail::is_in_callback()) return;
    failure_ = checks_.enter(function);
    has_entered_ = failure_ == MPI_SUCCESS;
  }
  ~checked_call() {
    if (completing_ != 0) checks_.end_completing(completing_);
    if (started_ != nullptr && !is_predefined(*started_))
      checks_.note_started(reinterpret_cast<const request*>(*started_));
    if (has_entered_) checks_.leave();
  }
  checked_call(const checked_call&) = delete;
  checked_call& operator=(const checked_call&) = delete;

  /// An error class; if it is not MPI_SUCCESS, the function is to do nothing else.
  [[nodiscard]] int failure() const noexcept { return failure_; }

  /// The function completes these requests, or frees them; both arguments are not checked yet.
  void complete(const MPI_Request* all, int count) noexcept {
    if (failure_ != MPI_SUCCESS || all == nullptr || !checks_.compares_requests()) return;
    failure_ = guarded([&] {
      std::vector<const request*> requests;
      for (int index = 0; index < count; ++index) {
        const request* const found = find_request(all[index]);
        // All sends that are complete at once share one request.
        if (found != nullptr && found != &rank_.requests.sent()) requests.push_back(found);
      }
      return requests.empty() ? MPI_SUCCESS : checks_.begin_completing(function_, std::move(requests), completing_);
    });
  }
  /// The function starts a request, or makes a persistent one.
  void start(const MPI_Request* started) noexcept {
    if (checks_.compares_requests()) started_ = started;
  }

 private:
  rank_state& rank_;
  call_checks& checks_;
  const char* function_;
  int failure_ = MPI_SUCCESS;
  bool has_entered_ = false;
  std::uint64_t completing_ = 0;
  const MPI_Request* started_ = nullptr;
};

}  // namespace weft::mpi
