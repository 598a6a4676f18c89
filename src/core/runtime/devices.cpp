// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/assertion.hpp"
#include "base/log.hpp"
#include "core/protocol/end_backlog.hpp"
#include "core/runtime/runtime_state.hpp"
#include "net/ring/cell_ring.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

void end_backlog_of(device_state& standard) noexcept {
  const unsigned unsent = end_backlog(standard);
  if (unsent == 0) return;
  base::log_warn(
      "the runtime ends, and there is no room for answers that peers wait for ({} of them): call barrier() before the "
      "end",
      unsent);
}

std::uint32_t checked_cells(const runtime_state& owner, const device_options& options) {
  const std::uint32_t most = owner.attributes().ring_cells;
  const std::size_t wanted = options.ring_cells.value_or(most);
  if (wanted < net::ring_cells_min || wanted > most || !std::has_single_bit(wanted)) {
    throw error{
        errc::invalid_argument,
        fmt::format("device_options::ring_cells={}: allowed is a power of two from {} to {}, as many as the rings "
                    "of the runtime have (WEFT_RING_CELLS, runtime_options::ring_cells)",
                    wanted, net::ring_cells_min, most)};
  }
  return static_cast<std::uint32_t>(wanted);
}

}  // namespace

void devices::set_room(std::uint32_t count) {
  all_.resize(count);
  adopted_.resize(count);
  cells_.resize(count);
}

bool devices::is_empty() const noexcept {
  return std::ranges::all_of(all_, [](const auto& each) { return each == nullptr; });
}

// While a handler of device 0 runs, a poll iterates over the rings of device 0, so their list must not change.
void devices::open(runtime_state& owner, device& interface, const device_options& options, device_state*& handle) {
  owner.refuse_copies();
  if (is_inside_standard()) {
    throw error{errc::invalid_state,
                "a device is made inside a handler or hook of the default device: make it outside"};
  }
  const std::uint32_t cells = checked_cells(owner, options);
  const progress_policy policy = options.policy.value_or(owner.attributes().progress_policy);
  for (bool is_adopted = false;;) {
    // Comes before the lock: a handler of device 0 may be waiting for the lock.
    poll_gate::scoped_entry entry;
    if (is_adopted) entry.take(standard().gate());
    const bool may_release = is_adopted;
    const std::scoped_lock lock{mutex_};
    const std::uint32_t index = free_index(cells);
    if (index == all_.size()) break;
    is_adopted = adopted_[index];
    if (is_adopted && !may_release) continue;
    if (cells_[index] == 0) cells_[index] = cells;
    auto made = std::make_unique<device_state>(owner, interface, index, options.shared, policy, cells);
    // Nothing throws from here on: until then no peer sends to it, and device 0 keeps what it has adopted.
    if (is_adopted) standard().endpoints().release(index);
    entry.reset();
    adopted_[index] = false;
    for (const auto& transport : owner.transports()) transport->go_live(index, options.only_named);
    device_state& opened = *made;
    all_[index] = std::move(made);
    opened.marks().look_at_addresses(owner.memory().kinds().knows_addresses());
    // First: from then on a thread of another device may poll it, and run handlers that use `interface`.
    handle = &opened;
    if (options.shared) shared_.add(index, opened);
    return;
  }
  throw error{errc::invalid_state,
              fmt::format("rank {} has {} devices already, as many as WEFT_DEVICES_MAX and the number of ranks allow",
                          owner.rank(), all_.size())};
}

std::uint32_t devices::free_index(std::uint32_t cells) const noexcept {
  const auto count = static_cast<std::uint32_t>(all_.size());
  std::uint32_t other = count;
  for (std::uint32_t index = 0; index < count; ++index) {
    if (all_[index] != nullptr) continue;
    if (cells_[index] == cells || cells_[index] == 0) return index;
    if (other == count) other = index;
  }
  return other;
}

void devices::look_at_addresses(bool look) {
  visit([&](std::uint32_t, device_state* each) {
    if (each != nullptr) each->marks().look_at_addresses(look);
  });
}

void devices::set_shared(device_state& dev, bool shared) {
  const std::scoped_lock lock{mutex_};
  if (dev.index() == 0 || shared_.find(dev.index()) == &dev) {
    throw error{errc::invalid_state,
                "set_shared: the device is the default one, or was made with .shared = true, so that threads of other "
                "devices may poll it"};
  }
  WEFT_ASSERT_CHECKED(dev.gate().is_free());
  dev.marks().set_shared(shared);
  dev.gate().set_shared(shared);
  dev.counts().set_shared(shared);
  dev.own_receives().set_room(shared ? 0 : spare_receives_of(dev.runtime().attributes().receives_max));
  dev.endpoints().set_shared(shared);
}

void devices::hide(device_state& shared) noexcept {
  const std::scoped_lock lock{mutex_};
  shared_.remove(shared.index());
  // A thread that found it before is still choosing, or inside the gate, or has left: after the fence we see which.
  fence_all_threads();
  for (const auto& each : all_) {
    if (each) each->others().wait_until_chosen();
  }
}

void devices::close(device_state& gone, poll_gate::scoped_entry& entry,
                    const std::vector<std::unique_ptr<net::transport>>& transports) noexcept {
  const std::uint32_t index = gone.index();
  const std::scoped_lock lock{mutex_};
  WEFT_ASSERT_CHECKED(all_[index].get() == &gone);
  if (index == 0) end_backlog_of(gone);  // while it can send
  for (const auto& transport : transports) transport->close(index);
  if (index != 0) standard().adopt(gone);
  entry.reset();
  adopted_[index] = index != 0;
  all_[index].reset();
}

}  // namespace weft::core
