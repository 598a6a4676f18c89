// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/slot.hpp"

#include <bit>
#include <new>

namespace weft::net::shm {
namespace {

// The `wanted`-th device of all whose bits are set, counted from 0.
std::uint32_t nth_live(std::uint64_t live, std::uint32_t wanted) noexcept {
  for (; wanted > 0; --wanted) live &= live - 1;
  return static_cast<std::uint32_t>(std::countr_zero(live));
}

}  // namespace

slot::slot(std::vector<std::unique_ptr<peer>>& peers, std::byte* base, const layout& where, std::uint32_t index,
           std::uint32_t cells, std::atomic<std::uint32_t>* borrowers)
    : peers_{&peers},
      base_{base},
      layout_{&where},
      index_{index},
      cells_{cells != 0 ? cells : where.shape.ring_cells},
      borrowers_{borrowers},
      routes_(peers.size()),
      endpoint_of_(peers.size()),
      connects_{reinterpret_cast<const std::atomic<std::uint64_t>*>(base + where.connect(index, 0))},
      connected_(peers.size()) {
  for (std::uint32_t rank = 0; rank < peers.size(); ++rank) {
    if (!peers[rank]->is_attached()) continue;
    routes_[rank].peer_live = &peers[rank]->live_word();
    routes_[rank].to_device = endpoint_of_[rank].data();
  }
}

outgoing* slot::find_ring(std::uint32_t to, std::uint32_t device) noexcept {
  // Held from the load of the live devices to both stores: of two threads, the one that stores last has read newer
  // ones.
  const std::scoped_lock lock{making_};
  const std::uint64_t seen = routes_[to].live_devices();
  // The peer wrote this: devices that its segment has no room for are ignored.
  const std::uint64_t live = seen & (~std::uint64_t{0} >> (slots_max - layout_->shape.devices_max));
  if (live == 0) return nullptr;  // the peer has no device yet, or no more
  std::uint64_t unnamed = live & ~only_named_devices(*(*peers_)[to]);
  if (unnamed == 0) unnamed = live;  // it is no rank of Weft that says so
  std::uint32_t wanted = device == any_device ? index_ : device;
  if (wanted >= slots_max || ((device == any_device ? unnamed : live) >> wanted & 1) == 0) {
    // The default device, device 0, is there as long as any.
    const std::uint32_t nth = device == any_device ? index_ % static_cast<std::uint32_t>(std::popcount(unnamed)) : 0;
    wanted = nth_live(unnamed, nth);
  }
  outgoing* found = make_ring(to, wanted);
  if (device == any_device && found != nullptr) {
    route& cached = routes_[to];
    // [shm.reroute_ring] release -> [shm.route_ring]: the ring is made.
    cached.ring.store(found, std::memory_order_release);
    // [shm.reroute] release -> [shm.route]: after the ring, so that no thread takes an older ring for these devices;
    // and under the lock, so that no other thread stores an older ring in between.
    cached.live.store(seen, std::memory_order_release);
  }
  return found;
}

outgoing* slot::make_ring(std::uint32_t to, std::uint32_t device) noexcept {
  std::atomic<outgoing*>& known = endpoint_of_[to][device];
  if (outgoing* const here = known.load(std::memory_order_relaxed); here != nullptr) return here;  // [locked]
  const peer& target = *(*peers_)[to];
  ring_control& control = target.ring_control_at(device, index_);
  try {
    made_.push_back(
        std::make_unique<outgoing>(control, cells_, target.sleep_word_at(device), packet_lender{borrowers_, to}));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  control.set_cells(cells_);
  target.connect(device, index_);
  // [shm.make_ring] release -> [shm.device_ring]: the ring is made.
  known.store(made_.back().get(), std::memory_order_release);
  return made_.back().get();
}

bool slot::look_for_sources() noexcept {
  const std::size_t before = sources_.size();
  missed_ = false;
  for (std::uint32_t rank = 0; rank < connected_.size(); ++rank) {
    // [shm.look] acquire <- [shm.connect]: the ring is set up.
    const std::uint64_t now = connects_[rank].load(std::memory_order_acquire);
    if (now != connected_[rank]) add_sources(rank, now & ~connected_[rank]);
  }
  return sources_.size() != before;
}

void slot::add_sources(std::uint32_t source, std::uint64_t devices) {
  peer& from = *(*peers_)[source];
  for (; devices != 0; devices &= devices - 1) {
    const auto device = static_cast<std::uint32_t>(std::countr_zero(devices));
    if (device < layout_->shape.devices_max && from.is_attached()) {
      auto& control = *reinterpret_cast<ring_control*>(base_ + layout_->ring(index_, source, device));
      try {
        sources_.emplace_back(from, control, control.cells(layout_->shape.ring_cells));
        sources_.back().before = newest_.load(std::memory_order_relaxed);  // [own]
        // [shm.list_source] release -> [shm.glance_at_source]: the source, which stays as long as the slot.
        newest_.store(&sources_.back(), std::memory_order_release);
      } catch (const std::bad_alloc&) {
        missed_ = true;
        return;
      }
    }
    connected_[source] |= std::uint64_t{1} << device;
  }
}

bool slot::holds_unread() const noexcept {
  // [shm.glance_at_source] acquire <- [shm.list_source]: the sources.
  const incoming* const newest = newest_.load(std::memory_order_acquire);
  const auto is_known = [&](const ring_control& control) {
    const incoming* each = newest;
    while (each != nullptr && !each->receiver.is_of(control)) each = each->before;
    return each != nullptr;
  };
  for (const incoming* each = newest; each != nullptr; each = each->before) {
    if (each->receiver.holds_unread()) return true;
  }
  for (std::uint32_t rank = 0; rank < peers_->size(); ++rank) {
    // [shm.glance] acquire <- [shm.connect]: the ring is set up.
    std::uint64_t devices = connects_[rank].load(std::memory_order_acquire);
    for (; devices != 0; devices &= devices - 1) {
      const auto device = static_cast<std::uint32_t>(std::countr_zero(devices));
      if (device >= layout_->shape.devices_max || !(*peers_)[rank]->is_attached()) continue;
      auto& control = *reinterpret_cast<ring_control*>(base_ + layout_->ring(index_, rank, device));
      // The next message of a ring that no poll has found is its first.
      if (is_known(control)) continue;
      const incoming unseen{*(*peers_)[rank], control, control.cells(layout_->shape.ring_cells)};
      if (unseen.receiver.holds_unread()) return true;
    }
  }
  return false;
}

}  // namespace weft::net::shm
