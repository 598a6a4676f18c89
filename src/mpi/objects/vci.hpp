// SPDX-License-Identifier: BSD-3-Clause
// Virtual communication interfaces (VCIs; yan2025-mpi-extensions, 3): the devices of a rank, among which its
// communicators are dealt out. Threads that use communicators of different VCIs share neither rings nor a poll gate.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "mpi/objects/async_hooks.hpp"
#include "mpi/objects/pending_messages.hpp"
#include "mpi/objects/request.hpp"
#include "weft/device.hpp"
#include "weft/progress_policy.hpp"
#include "weft/progress_thread.hpp"

namespace weft {
class runtime;
}

namespace weft::mpi {

/// A device, and the messages that wait for room on it.
struct vci {
  std::uint32_t number;
  weft::device& device;
  pending_messages pending;
};

/// Their number, and the progress on them.
struct vci_options {
  std::uint32_t count = 1;
  /// The policy of their devices; none: the runtime's.
  std::optional<progress_policy> policy{};
  /// A call makes progress on all of them; else on those of its own operations alone.
  bool has_global_progress = true;
  /// A thread makes progress on each. Their devices are shared then, whatever the thread level.
  bool have_threads = false;
};
/// By the settings. **Errors**: `configuration` if these contradict each other.
[[nodiscard]] vci_options choose_vcis(int thread_level);

class vci_list {
 public:
  /// The first has the default device; makes the devices of the others. **Errors**: those of `weft::device`.
  vci_list(weft::runtime& runtime, request_signals& signals, const vci_options& options);

  [[nodiscard]] vci& first() noexcept { return *all_.front(); }
  /// The VCI of a communicator: of the `wanted` number, else by its id. Where another rank has more of them, its
  /// messages arrive at another device: slowly, but rightly.
  [[nodiscard]] vci& find(std::uint32_t context, std::optional<std::uint32_t> wanted) noexcept;
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
  /// Their devices, in their order.
  [[nodiscard]] std::span<weft::device* const> devices() const noexcept { return devices_; }
  static constexpr std::uint32_t count_max = 64;  // `WEFT_DEVICES_MAX` is at most that
  /// Whether progress on one of them is progress on all.
  [[nodiscard]] bool have_global_progress() const noexcept { return has_global_progress_ || all_.size() == 1; }

  /// Starts the threads that make progress, on devices that are shared. False: they run already. **Errors**:
  /// `std::system_error`, `std::bad_alloc`.
  bool try_start_threads();
  /// Returns whether there were any. **Blocking**: until they have ended.
  bool stop_threads() noexcept;
  [[nodiscard]] bool have_sends() const noexcept;
  void cancel_receives() noexcept;
  /// The hooks of the program, which the first device has.
  [[nodiscard]] async_hooks& hooks() noexcept { return hooks_; }

 private:
  std::vector<std::unique_ptr<weft::device>> made_;
  std::vector<std::unique_ptr<vci>> all_;
  std::vector<weft::device*> devices_;
  std::mutex threads_mutex_;
  std::vector<std::unique_ptr<weft::progress_thread>> threads_;  // guarded by `threads_mutex_`
  bool has_global_progress_;
  async_hooks hooks_;
};

}  // namespace weft::mpi
