// SPDX-License-Identifier: BSD-3-Clause
// Continuation requests (yan2025-mpi-extensions, 2.3 and 3.3): persistent requests that are complete once all
// continuations that were registered in them have run.
#pragma once

#include <atomic>
#include <utility>

#include "mpi/objects/continuation.hpp"
#include "mpi/objects/request.hpp"

namespace weft::mpi {

class continuation_request final : public request_part, public registrar {
 public:
  /// `polls_max`: so many continuations run in a test at most; 0: all.
  continuation_request(bool runs_in_tests_alone, int polls_max) noexcept : polls_max_{polls_max} {
    is_poll_only = runs_in_tests_alone;
  }

  /// A request of a continuation that is to be registered makes progress on this device.
  void note_device(weft::device& dev) noexcept;

  int start(rank_state& rank, request& self) override;
  void complete(rank_state& rank, request& self, outcome& result) noexcept override;
  void look(request& self) noexcept override;
  bool advance(rank_state& rank, request& self) noexcept override;
  void wait(rank_state& rank, request& self) noexcept override;
  int refuse_free() noexcept override;

  /// The end of the rank: all that wait for a start or a test.
  template <class Visit>
  void take_kept(const Visit& visit) noexcept {
    // [own] by the thread that ends the rank
    continuation* const taken = to_run_.exchange(nullptr, std::memory_order_relaxed);
    for (continuation* each : {held.take_all(false), polled.take_all(false), taken}) {
      while (each != nullptr) visit(*std::exchange(each, each->next));
    }
  }

 private:
  bool run_polled() noexcept;

  const int polls_max_;
  // Whether a test or a wait has something to run.
  [[nodiscard]] bool has_polled() const noexcept {
    return polled.has_nodes() || to_run_.load(std::memory_order_relaxed) != nullptr;  // [own] of the thread that tests
  }

  std::atomic<continuation*> to_run_{nullptr};  // taken out of `polled`, by the thread that tests
  // The device of all its requests so far, if it is one.
  std::atomic<weft::device*> device_{nullptr};
  std::atomic<bool> has_several_devices_{false};
};

}  // namespace weft::mpi
