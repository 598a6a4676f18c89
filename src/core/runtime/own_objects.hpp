// SPDX-License-Identifier: BSD-3-Clause
// The objects of the public interface that a runtime makes for itself. They need that interface, so they are made after
// the registries, and destroyed before them.
#pragma once

#include <memory>
#include <mutex>

#include "core/runtime/barrier.hpp"
#include "core/runtime/packet_returns.hpp"
#include "core/runtime/replies.hpp"
#include "core/runtime/runtime_witness.hpp"
#include "core/wait/descriptor_state.hpp"
#include "weft/device.hpp"

namespace weft::core {

class own_objects {
 public:
  explicit own_objects(core::parking& lot) noexcept : parking_{&lot} {}

  /// Makes the default device with `options`, the barrier and the replies. Called once.
  void make(runtime& interface, const device_options& options, const base::settings& settings, packet_pool& packets);
  /// Lets the process report of the runtime if nothing moves in it. Called after `make`.
  void watch(runtime_state& runtime);
  /// Destroys them. `is_copy`: in a child of fork(). Ends the process if a peer has yet to fetch a long reply.
  void end(bool is_copy) noexcept;

  [[nodiscard]] device& default_device() noexcept { return *default_device_; }
  [[nodiscard]] core::barrier& barrier() noexcept { return *barrier_; }
  [[nodiscard]] core::replies& replies() noexcept { return *replies_; }
  [[nodiscard]] core::packet_returns& packet_returns() noexcept { return *packet_returns_; }
  /// Made by `watch`. It asks the collectives, which end before it.
  [[nodiscard]] runtime_witness& witness() noexcept { return *witness_; }
  /// The collectives' own: destroyed before all else here.
  [[nodiscard]] std::shared_ptr<void>& kept_for_groups() noexcept { return kept_for_groups_; }
  /// Made by the first call. **Threads**: any.
  [[nodiscard]] descriptor_state& descriptor(runtime_state& runtime);
  /// Wakes threads that wait for a barrier or a flush: they wait for the barrier's object. **Threads**: any.
  void wake_flushes() noexcept { parking_->signalled(barrier_.get()); }

 private:
  core::parking* parking_;
  std::unique_ptr<device> default_device_;
  std::unique_ptr<core::barrier> barrier_;
  std::unique_ptr<core::replies> replies_;
  std::unique_ptr<core::packet_returns> packet_returns_;
  std::shared_ptr<void> kept_for_groups_;
  std::mutex descriptor_mutex_;
  std::unique_ptr<descriptor_state> descriptor_;
  std::unique_ptr<runtime_witness> witness_;
};

}  // namespace weft::core
