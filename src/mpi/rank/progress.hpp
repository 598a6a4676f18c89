// SPDX-License-Identifier: BSD-3-Clause
// Progress and waits for operations of several communicators, whose devices may differ.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "mpi/rank/rank_state.hpp"
#include "weft/detail/report_names.hpp"
#include "weft/device.hpp"
#include "weft/wait.hpp"

namespace weft::mpi {

/// Devices of one rank, none twice. **Threads**: one.
class device_set {
 public:
  device_set() noexcept {}
  void add(weft::device& dev) noexcept {
    if (std::find(all_.begin(), all_.begin() + count_, &dev) == all_.begin() + count_) all_[count_++] = &dev;
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::span<weft::device* const> devices() const noexcept { return {all_.data(), count_}; }

 private:
  std::array<weft::device*, vci_list::count_max> all_;  // the others are not set
  std::uint32_t count_ = 0;
};

/// Makes progress on each of these. Returns whether one has moved something.
inline bool progress_on(std::span<weft::device* const> devices) noexcept {
  bool has_moved = false;
  for (weft::device* const each : devices) has_moved |= each->progress();
  return has_moved;
}
/// Whether progress on the device of any request is progress on all requests.
[[nodiscard]] inline bool ends_everywhere(const rank_state& rank) noexcept {
  return rank.vcis.have_global_progress() && rank.vcis.streams().are_none();
}
/// Makes progress on all VCIs; `first`: the device that is most likely to have something.
inline bool progress_on_all(rank_state& rank, weft::device& first) noexcept {
  return rank.vcis.have_global_progress() ? first.progress() : progress_on(rank.vcis.devices());
}

/// Waits as `runtime::wait` does, for requests. **Errors**: `weft::error` inside a handler.
template <class Condition>
void wait_on(rank_state& rank, const weft::detail::waiting_function& function, std::span<weft::device* const> devices,
             const Condition& is_done) {
  if (devices.size() <= 1) {  // none: the requests have ended meanwhile
    weft::detail::wait_as(function, devices.empty() ? rank.device : *devices.front(), rank.signals, is_done);
    return;
  }
  const completion* const only = &rank.signals;
  weft::detail::wait_as(function, devices, {&only, 1},
                        [](void* condition) { return bool{(*static_cast<const Condition*>(condition))()}; },
                        const_cast<Condition*>(&is_done), {});
}
/// Likewise, with progress on all VCIs.
template <class Condition>
void wait_on_all(rank_state& rank, const weft::detail::waiting_function& function, weft::device& first,
                 const Condition& is_done) {
  weft::device* const only = &first;
  wait_on(rank, function, rank.vcis.have_global_progress() ? std::span{&only, 1} : rank.vcis.devices(), is_done);
}

/// Likewise, with progress on all streams too: for MPI_Finalize, as no other thread is in a stream then. **Errors**:
/// also std::bad_alloc.
template <class Condition>
void wait_at_end(rank_state& rank, const weft::detail::waiting_function& function, const Condition& is_done) {
  if (rank.vcis.streams().are_none()) return wait_on_all(rank, function, rank.device, is_done);
  device_set devices;
  for (weft::device* const each : rank.vcis.devices()) devices.add(*each);
  for (stream* const each : rank.vcis.streams().all()) devices.add(each->device);
  wait_on(rank, function, devices.devices(), is_done);
}

}  // namespace weft::mpi
