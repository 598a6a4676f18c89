// SPDX-License-Identifier: BSD-3-Clause
#include "net/self/self_transport.hpp"

#include <algorithm>

#include "base/config.hpp"

namespace weft::net {

self_transport::loop::loop(std::uint32_t index, std::uint32_t cell_count)
    : slot{index},
      cells(cell_count),
      sender{control, cells.data(), cell_count},
      receiver{control, cells.data(), cell_count} {}

self_transport::self_transport(const transport_context& context)
    : rank_{context.boot.rank()},
      is_alone_{context.boot.size() == 1},
      ring_cells_{context.settings.ring_cells},
      slots_(context.settings.devices_max) {}

self_transport::~self_transport() = default;

self_transport::loop& self_transport::ring_to(std::uint32_t device, std::uint32_t own) noexcept {
  if (device == any_device || device == own) return *slots_[own].ring;
  const std::uint32_t named = device % static_cast<std::uint32_t>(slots_.size());
  // [self.ring] acquire <- [self.open]: a live slot has its ring. Device 0 always has one.
  return *slots_[slots_[named].live.load(std::memory_order_acquire) ? named : 0].ring;
}

void self_transport::begin(std::uint32_t slot, std::uint32_t cells) {
  if (!slots_[slot].ring) slots_[slot].ring = std::make_unique<loop>(slot, cells != 0 ? cells : ring_cells_);
}

// A message that names no device arrives at the sender's own.
void self_transport::go_live(std::uint32_t slot, bool /*only_named*/) noexcept {
  // [self.open] release -> [self.ring]: the ring is made.
  slots_[slot].live.store(true, std::memory_order_release);
}

void self_transport::close(std::uint32_t slot) noexcept {
  // [self.close] relaxed: a sender that still finds the slot live uses its ring, which device 0 polls from now on.
  slots_[slot].live.store(false, std::memory_order_relaxed);
}

}  // namespace weft::net
