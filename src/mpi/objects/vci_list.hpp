// SPDX-License-Identifier: BSD-3-Clause
// The VCIs of a rank, with the hooks of its default stream; and its other streams.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "mpi/objects/async_hooks.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/objects/stream.hpp"
#include "mpi/objects/vci.hpp"
#include "weft/device.hpp"
#include "weft/progress_thread.hpp"

namespace weft {
class runtime;
}

namespace weft::mpi {

class vci_list {
 public:
  /// The first has the default device; makes the devices of the others. **Errors**: those of `weft::device`.
  vci_list(weft::runtime& runtime, request_signals& signals, const vci_options& options);

  [[nodiscard]] vci& first() noexcept { return *all_.front(); }
  /// The VCI of a communicator: of the `wanted` number, else by its id. Where another rank has more of them, its
  /// messages arrive at another device: slowly, but rightly.
  [[nodiscard]] vci& find(std::uint32_t context, std::optional<std::uint32_t> wanted) noexcept;
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
  /// Calls `visit(vci)` for each.
  template <class Visit>
  void each(const Visit& visit) {
    for (const auto& one : all_) visit(*one);
  }
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
  [[nodiscard]] const async_hooks& hooks() const noexcept { return hooks_; }
  /// The streams of the program, each of which is a VCI of its own.
  [[nodiscard]] stream_list& streams() noexcept { return streams_; }
  [[nodiscard]] const stream_list& streams() const noexcept { return streams_; }

 private:
  std::vector<std::unique_ptr<weft::device>> made_;
  std::vector<std::unique_ptr<vci>> all_;
  std::vector<weft::device*> devices_;
  std::mutex threads_mutex_;
  std::vector<std::unique_ptr<weft::progress_thread>> threads_;  // guarded by `threads_mutex_`
  bool has_global_progress_;
  async_hooks hooks_;
  stream_list streams_;
};

}  // namespace weft::mpi
