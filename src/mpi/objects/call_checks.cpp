// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/call_checks.hpp"

#include <algorithm>
#include <utility>

#include "mpi/error/error.hpp"

namespace weft::mpi {
namespace {

// The first request that both lists have, or null. Both are sorted by address.
const request* find_common(const std::vector<const request*>& left, const std::vector<const request*>& right) noexcept {
  auto first = left.begin();
  auto second = right.begin();
  while (first != left.end() && second != right.end()) {
    if (*first == *second) return *first;
    if (std::less<>{}(*first, *second)) {
      ++first;
    } else {
      ++second;
    }
  }
  return nullptr;
}

}  // namespace

int call_checks::refuse_thread() const noexcept {
  const std::thread::id mine = std::this_thread::get_id();
  switch (thread_level_) {
    case MPI_THREAD_SINGLE:
      if (mine == main_thread_) return MPI_SUCCESS;
      return fail(MPI_ERR_OTHER, "a second thread calls MPI, which the program has initialized with MPI_THREAD_SINGLE");
    case MPI_THREAD_FUNNELED:
      if (mine == main_thread_) return MPI_SUCCESS;
      return fail(MPI_ERR_OTHER,
                  "another thread than the main one calls MPI, which the program has initialized with "
                  "MPI_THREAD_FUNNELED");
    case MPI_THREAD_SERIALIZED:
      if (depth_ == 0 || mine == inside_) return MPI_SUCCESS;
      return fail(MPI_ERR_OTHER,
                  "a thread calls MPI while another one is in %s, and the program has initialized MPI with "
                  "MPI_THREAD_SERIALIZED",
                  inside_function_);
    default: return MPI_SUCCESS;
  }
}

int call_checks::check_thread() noexcept {
  const std::scoped_lock lock{mutex_};
  return refuse_thread();
}

int call_checks::enter(const char* function) noexcept {
  if (thread_level_ != MPI_THREAD_SERIALIZED) return refuse_thread();  // by what never changes
  const std::scoped_lock lock{mutex_};
  const int error = refuse_thread();
  if (error != MPI_SUCCESS) return error;
  if (depth_++ == 0) {
    inside_ = std::this_thread::get_id();
    inside_function_ = function;
  }
  return MPI_SUCCESS;
}

void call_checks::leave() noexcept {
  if (thread_level_ != MPI_THREAD_SERIALIZED) return;
  const std::scoped_lock lock{mutex_};
  if (depth_ > 0) --depth_;  // by another thread, if the call is of a fiber that has moved
}

int call_checks::begin_completing(const char* function, std::vector<const request*> requests, std::uint64_t& call) {
  std::ranges::sort(requests);
  const std::scoped_lock lock{mutex_};
  for (const auto& [number, other] : completing_) {
    if (find_common(requests, other.requests) == nullptr) continue;
    return fail(MPI_ERR_REQUEST, "another call, of %s, has the same request and has not returned", other.function);
  }
  completing_.emplace(++last_call_, completing_call{function, std::this_thread::get_id(), std::move(requests)});
  call = last_call_;
  return MPI_SUCCESS;
}

void call_checks::end_completing(std::uint64_t call) noexcept {
  const std::scoped_lock lock{mutex_};
  completing_.erase(call);
}

void call_checks::note_started(const request* started) noexcept {
  const std::scoped_lock lock{mutex_};
  for (auto& [number, call] : completing_) {
    const auto found = std::ranges::lower_bound(call.requests, started, std::less<>{});
    if (found != call.requests.end() && *found == started) call.requests.erase(found);
  }
}

int call_checks::enter_stream(const stream& own, const char* function) {
  const std::thread::id mine = std::this_thread::get_id();
  const std::scoped_lock lock{mutex_};
  const auto [found, is_first] = streams_.try_emplace(&own, stream_call{function, mine, 0});
  if (found->second.thread != mine)
    return fail(MPI_ERR_OTHER, "another thread is in the same stream, in %s", found->second.function);
  ++found->second.depth;
  return MPI_SUCCESS;
}

void call_checks::leave_stream(const stream& own) noexcept {
  const std::scoped_lock lock{mutex_};
  const auto found = streams_.find(&own);
  if (found != streams_.end() && --found->second.depth == 0) streams_.erase(found);
}

void call_checks::end_calls_of_thread() noexcept {
  const std::thread::id mine = std::this_thread::get_id();
  const std::scoped_lock lock{mutex_};
  if (inside_ == mine) depth_ = 0;
  std::erase_if(completing_, [mine](const auto& each) { return each.second.thread == mine; });
  std::erase_if(streams_, [mine](const auto& each) { return each.second.thread == mine; });
}

}  // namespace weft::mpi
