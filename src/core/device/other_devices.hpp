// SPDX-License-Identifier: BSD-3-Clause
// The other devices of a rank, which a quiet call of progress polls by its device's policy.
//
// The thread leaves its own gate while it polls another device, so that other threads may poll its device meanwhile.
// Such polls are not nested: if a handler that runs in one makes progress on a device, that call polls no other device.
// Sources: progress/other_devices.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/device/poll_schedule.hpp"
#include "core/device/quiet_calls.hpp"
#include "core/device/shared_devices.hpp"
#include "weft/device.hpp"

namespace weft::core {

class device_state;
enum class stillness : std::uint8_t;

/// **Threads**: the one inside the gate of the device that it belongs to; any, where the comment says so.
class other_devices {
 public:
  /// `shared`: the devices that other devices' threads may poll, `own` perhaps among them.
  other_devices(device_state& own, const shared_devices& shared, progress_policy policy);

  [[nodiscard]] progress_policy policy() const noexcept { return policy_; }
  /// The other devices that its quiet calls poll, a bit each. **Threads**: any.
  [[nodiscard]] std::uint64_t polled() const noexcept { return policy_ == progress_policy::local ? 0 : all(); }
  /// The calls of progress on its own device that moved nothing.
  [[nodiscard]] quiet_calls& quiet() noexcept { return quiet_; }

  /// The end of a quiet call, which leaves the gate. **Returns** whether it has moved something elsewhere.
  bool end_quiet_call() noexcept;
  /// Polls each other shared device once, whatever the policy. **Threads**: any, outside the gate.
  unsigned poll_all() noexcept;
  /// Looks at each of these devices for a thread that is about to sleep. **Threads**: any, outside the gate.
  [[nodiscard]] stillness look(std::uint64_t devices) noexcept;
  /// Polls the other shared devices, whatever the policy, on which messages of ranks that have ended may wait
  /// (peer_ends.hpp). **Threads**: any, outside the gate. **Returns** how much has moved.
  unsigned poll_for_ended() noexcept;

  /// Returns once each thread of its own device that has chosen another device is inside that one's gate, or has left
  /// it. **Threads**: any.
  void wait_until_chosen() const noexcept;

 private:
  [[nodiscard]] std::uint64_t all() const noexcept;
  // Add to `moved`. False: the thread has left its own gate, and another one is inside now.
  [[nodiscard]] bool poll_by_policy(unsigned& moved) noexcept;
  [[nodiscard]] bool poll_for_ended(unsigned& moved) noexcept;
  [[nodiscard]] bool poll(std::uint32_t index, unsigned& moved) noexcept;
  [[nodiscard]] bool poll_due(std::uint64_t among, unsigned& moved) noexcept;
  [[nodiscard]] bool poll_if_unpolled(std::uint32_t index, std::int64_t now, unsigned count, unsigned& moved) noexcept;
  template <class Wants>
  [[nodiscard]] device_state* enter(std::uint32_t index, Wants&& wants) noexcept;
  [[nodiscard]] std::uint32_t next_random() noexcept;

  device_state& own_;
  const shared_devices& shared_;
  progress_policy policy_;
  quiet_calls quiet_;
  std::uint32_t random_;
  std::atomic<bool> choosing_{false};        // a thread is choosing another device to poll
  std::unique_ptr<poll_schedule> schedule_;  // null unless the policy is adaptive
};

}  // namespace weft::core
