// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/vci.hpp"

#include <algorithm>

#include "mpi.h"
#include "mpi/objects/vci_list.hpp"
#include "weft/mpi.hpp"
#include "weft/runtime.hpp"

namespace weft::mpi {
namespace {

// Few of them bear many threads (yan2025-mpi-extensions, 5.1; yan2025-lci, 6.2): one for each four cores.
std::uint32_t usual_count(std::size_t core_count, std::uint32_t devices_max) noexcept {
  constexpr std::size_t cores_each = 4, count_max = 4;
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(core_count / cores_each, 1, std::min<std::size_t>(count_max, devices_max)));
}

}  // namespace

vci_options choose_vcis(int thread_level) {
  const weft::detail::mpi_settings settings = weft::detail::read_mpi_settings();
  vci_options out{.has_global_progress = settings.global_progress, .have_threads = settings.progress_thread};
  if (thread_level != MPI_THREAD_MULTIPLE) return out;
  out.count = settings.vcis.value_or(usual_count(settings.core_count, settings.devices_max));
  if (out.count > 1 && settings.global_progress && settings.policy == progress_policy::local)
    out.policy = progress_policy::adaptive;
  return out;
}

vci_list::vci_list(weft::runtime& runtime, request_signals& signals, const vci_options& options)
    : has_global_progress_{options.has_global_progress}, hooks_{runtime.default_device()} {
  const auto add = [&](weft::device& device) {
    all_.push_back(std::unique_ptr<vci>{
        new vci{static_cast<std::uint32_t>(all_.size()), device, {{device, signals}, {device, signals}}}});
    devices_.push_back(&device);
  };
  add(runtime.default_device());
  while (all_.size() < options.count) {
    made_.push_back(std::make_unique<weft::device>(runtime, device_options{.policy = options.policy}));
    add(*made_.back());
  }
}

vci& vci_list::find(std::uint32_t context, std::optional<std::uint32_t> wanted) noexcept {
  return *all_[wanted.value_or(context) % count()];
}

bool vci_list::try_start_threads() {
  const std::scoped_lock locked{threads_mutex_};
  if (!threads_.empty()) return false;
  std::vector<std::unique_ptr<weft::progress_thread>> started;
  for (const auto& each : all_) started.push_back(std::make_unique<weft::progress_thread>(each->device));
  threads_.swap(started);
  return true;
}

bool vci_list::stop_threads() noexcept {
  const std::scoped_lock locked{threads_mutex_};
  const bool have_run = !threads_.empty();
  threads_.clear();
  return have_run;
}

bool vci_list::have_sends() const noexcept {
  return std::ranges::any_of(all_, [](const auto& each) { return !each->pending.sends.is_empty(); });
}

void vci_list::cancel_receives() noexcept {
  for (const auto& each : all_) each->pending.receives.cancel_all();
}

}  // namespace weft::mpi
