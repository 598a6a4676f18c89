// SPDX-License-Identifier: BSD-3-Clause
// Barriers and sums of the workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include <weft/weft.hpp>

namespace weft_hpccg {

using clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(clock::time_point begin) noexcept {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

/// The workers of one rank. All functions: **Threads**: each worker; all of them make equal calls in one order.
class team {
 public:
  team(weft::runtime& rt, std::uint32_t workers)
      : parts_(workers),
        meeting_{workers},
        world_{rt.world()},
        add_ranks_{weft::collective::allreduce({}, std::span{&sum_, 1}).keep(world_)} {}

  /// Waits for all workers of this rank.
  void meet() { meeting_.arrive_and_wait(); }

  /// The sum of the parts of all workers of all ranks. Worker 0 adds up those of its rank, in the order of workers, and
  /// takes part in the collective. So all get equal bits, also from run to run.
  [[nodiscard]] double sum(std::uint32_t worker, double part) {
    parts_[worker].value = part;
    meet();
    if (worker == 0) add_all();
    meet();
    return sum_;
  }

  /// Of worker 0 in collectives.
  [[nodiscard]] double sum_seconds() const noexcept { return sum_seconds_; }

 private:
  struct alignas(64) padded {
    double value = 0;
  };

  void add_all() {
    sum_ = 0;
    for (const padded& each : parts_) sum_ += each.value;
    const auto begin = clock::now();
    add_ranks_.run();
    sum_seconds_ += seconds_since(begin);
  }

  std::vector<padded> parts_;
  weft::fiber_barrier meeting_;
  weft::group world_;
  double sum_ = 0;
  double sum_seconds_ = 0;
  weft::persistent_collective add_ranks_;
};

}  // namespace weft_hpccg
