// SPDX-License-Identifier: BSD-3-Clause
// The endpoints of a device, one for each transport, in the order in which they are polled: the one that moved
// something last is polled first.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/assertion.hpp"
#include "net/endpoint.hpp"

namespace weft::core {

class message_sink;

/// **Threads**: the one inside the gate of the device that they belong to.
class endpoints {
 public:
  using endpoint = net::endpoint<message_sink>;

  /// Called before the device is known to other threads. The one that is added last is polled first.
  endpoint& add(std::unique_ptr<endpoint> opened) {
    if (busy_ != nullptr) idle_.push_back(busy_);
    all_.push_back(std::move(opened));
    busy_ = all_.back().get();
    return *busy_;
  }

  /// Whether a message waits for a poll. **Threads**: any, while the device lives.
  [[nodiscard]] bool hold_unread() const noexcept {
    for (const auto& each : all_) {
      if (each->holds_unread()) return true;
    }
    return false;
  }

  /// **Threads**: none uses the device.
  void set_shared(bool shared) noexcept {
    for (const auto& each : all_) each->set_shared(shared);
  }

  // Each answers how many messages have arrived.
  [[nodiscard]] unsigned poll_busy(message_sink& into) noexcept {
    WEFT_ASSERT_CHECKED(busy_ != nullptr);
    return busy_->poll(into, arrivals_per_peer);
  }
  /// Polls all but the busy one. The busy one becomes the last of them that has moved something.
  unsigned poll_others(message_sink& into) noexcept {
    unsigned arrived = 0;
    for (endpoint*& other : idle_) {
      const unsigned here = other->poll(into, arrivals_per_peer);
      if (here != 0) std::swap(busy_, other);
      arrived += here;
    }
    return arrived;
  }
  /// Polls them until one has moved something.
  [[nodiscard]] [[gnu::always_inline]] unsigned poll_until_busy(message_sink& into) noexcept {
    for (endpoint*& other : idle_) {
      const unsigned arrived = other->poll(into, arrivals_per_peer);
      if (arrived == 0) [[likely]]
        continue;
      std::swap(busy_, other);
      return arrived;
    }
    return 0;
  }
  [[nodiscard]] unsigned poll_all(message_sink& into) noexcept {
    unsigned arrived = 0;
    for (const auto& each : all_) arrived += each->poll(into, arrivals_per_peer);
    return arrived;
  }

  /// Lets them also poll the arrivals of slot `slot`, whose device was destroyed.
  void adopt(std::uint32_t slot) noexcept {
    for (const auto& each : all_) each->adopt(slot);
  }
  /// Stops polling slot `slot`, which is about to have a device again.
  void release(std::uint32_t slot) noexcept {
    for (const auto& each : all_) each->release(slot);
  }

 private:
  // Messages taken from one peer before the next peer is polled.
  static constexpr unsigned arrivals_per_peer = 16;

  std::vector<std::unique_ptr<endpoint>> all_;
  endpoint* busy_ = nullptr;     // the endpoint that moved something last
  std::vector<endpoint*> idle_;  // the other endpoints
};

}  // namespace weft::core
