// SPDX-License-Identifier: BSD-3-Clause
// A call of MPI at a rank whose calls are checked (WEFT_CHECK=1), while it lasts. The entry points make one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi.h"
#include "mpi/error/error.hpp"
#include "mpi/objects/call_checks.hpp"
#include "mpi/objects/stream.hpp"
#include "mpi/rank/rank_state.hpp"
#include "mpix.h"
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
    for (const stream* const each : streams_) checks_.leave_stream(*each);
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

  /// The thread is in this stream, in that of a communicator, or in those of requests; arguments are not checked yet.
  void use_stream(MPIX_Stream handle) noexcept { enter(find_stream(handle)); }
  void use_communicator(MPI_Comm handle, int index = 0) noexcept {
    const communicator* const comm = find_communicator(rank_, handle);
    if (comm == nullptr || comm->route.streams == nullptr) return;
    const auto own = comm->route.streams->own();
    if (index >= 0 && static_cast<std::size_t>(index) < own.size()) enter(own[static_cast<std::size_t>(index)]);
  }
  void use_requests(const MPI_Request* all, int count) noexcept {
    if (all == nullptr) return;
    for (int index = 0; index < count; ++index) {
      const request* const found = find_request(all[index]);
      if (found != nullptr && found->owner != nullptr && found->is_active) enter(stream_of(found->comm()));
    }
  }

 private:
  // The stream of a communicator, or of a lane of one.
  [[nodiscard]] static const stream* stream_of(const communicator& comm) noexcept {
    if (comm.route.streams == nullptr) return nullptr;
    for (const stream* const each : comm.route.streams->own()) {
      if (each != nullptr && &each->device == &comm.route.device) return each;
    }
    return nullptr;
  }
  void enter(const stream* own) noexcept {
    if (own == nullptr || !has_entered_ || failure_ != MPI_SUCCESS) return;
    if (std::find(streams_.begin(), streams_.end(), own) != streams_.end()) return;
    failure_ = guarded([&] {
      streams_.reserve(streams_.size() + 1);
      const int error = checks_.enter_stream(*own, function_);
      if (error == MPI_SUCCESS) streams_.push_back(own);
      return error;
    });
  }

  rank_state& rank_;
  call_checks& checks_;
  const char* function_;
  int failure_ = MPI_SUCCESS;
  bool has_entered_ = false;
  std::uint64_t completing_ = 0;
  const MPI_Request* started_ = nullptr;
  std::vector<const stream*> streams_;
};

}  // namespace weft::mpi
