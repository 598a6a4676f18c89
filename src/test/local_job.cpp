// SPDX-License-Identifier: BSD-3-Clause
#include "weft/test/local_job.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "boot/bootstrap.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::test {
namespace {

// Ranks leave together: one that is done must not take its segment away from others.
class farewell {
 public:
  explicit farewell(std::uint32_t ranks) noexcept : left_{ranks} {}

  void wait() {
    std::unique_lock lock{mutex_};
    if (--left_ == 0) all_.notify_all();
    all_.wait(lock, [&] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  std::uint32_t left_;
};

}  // namespace

void local_job::run(const std::function<void(runtime&)>& body) const {
  const auto bootstraps = boot::make_local_job(ranks_);
  std::exception_ptr first;
  std::mutex first_mutex;
  farewell leaving{ranks_};
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    threads.emplace_back([&, rank] {
      const auto note = [&] {
        const std::scoped_lock lock{first_mutex};
        if (!first) first = std::current_exception();
      };
      // Not std::optional: a runtime does not move.
      std::unique_ptr<runtime> own;
      try {
        own.reset(new runtime{bootstraps[rank], options_ ? options_(rank) : runtime_options{}});
        body(*own);
      } catch (...) {
        note();
      }
      leaving.wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

void local_job::assume_beyond_processors(runtime& rt, bool are_beyond) noexcept {
  rt.state_->job_.assume_beyond_processors(are_beyond);
}

}  // namespace weft::test
