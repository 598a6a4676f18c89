// SPDX-License-Identifier: BSD-3-Clause
// For threads that look an object up outside of any poll, for a few instructions, while another thread may withdraw it.
// The thread that destroys the object waits for them, as it does for pollers.
//
// Cost to the reader: the stores of a poll gate in a line of the thread's own.
#pragma once

#include <array>
#include <cstdint>

#include "base/backoff.hpp"
#include "base/misuse.hpp"
#include "base/not_inherited.hpp"
#include "core/device/poll_gate.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::core {

class brief_readers final : private base::not_inherited {
 public:
  /// Calls `look`, which must not call a function of the user's, nor wait.
  template <class Look>
  auto read(const Look& look) noexcept {
    const std::uint32_t slot = detail::this_thread_slot();
    poll_gate& gate = slot < own_gates ? gates_[slot].gate : shared_;
    for (base::backoff waiting; !gate.try_enter(); waiting.pause()) {
      if (gate.is_closed()) base::refuse_to_child("a matching engine");
    }
    const auto out = look();
    gate.leave();
    return out;
  }

  /// Waits until each thread that is reading now has ended. Call it after `fence_all_threads`.
  void wait() const noexcept {
    for (const own& each : gates_) each.gate.wait_until_left();
    shared_.wait_until_left();
  }

 private:
  // A thread of the parent may have been reading at the fork, or changing what is read.
  void become_copy() noexcept override {
    for (own& each : gates_) each.gate.close_for_ever();
    shared_.close_for_ever();
  }

  static constexpr std::uint32_t own_gates = 64;
  struct own {
    poll_gate gate{false};
  };

  std::array<own, own_gates> gates_;  // index: the thread's slot
  poll_gate shared_{true};            // entered by all other threads
  base::fork_entry at_forks_{*this};
};

}  // namespace weft::core
