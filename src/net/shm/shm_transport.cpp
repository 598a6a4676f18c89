// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/shm_transport.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/random.hpp"
#include "net/shm/cross_memory.hpp"
#include "net/shm/handshake.hpp"

namespace weft::net::shm {
namespace {

// Bounds the address space of the rings of all segments together; fewer device slots than asked for if necessary.
constexpr std::size_t ring_space_max = std::size_t{1} << 41;

shape shape_of(const transport_context& context) {
  shape out{context.boot.size(),           context.settings.devices_max,  context.settings.ring_cells,
            context.settings.packet_count, context.settings.packet_bytes, context.settings.shared_bytes};
  out.devices_max = std::clamp(out.devices_max, 1U, slots_max);
  const auto space = [&] {
    return ring_bytes(out.ring_cells) * out.devices_max * out.devices_max * out.ranks * out.ranks;
  };
  while (out.devices_max > 1 && space() > ring_space_max) out.devices_max /= 2;
  return out;
}

}  // namespace

shm_transport::shm_transport(const transport_context& context)
    : self_{context.boot.rank()},
      layout_{shape_of(context)},
      probe_word_{base::random_word()},
      foreign_packets_max_{context.settings.foreign_packets_max},
      lent_to_{std::make_unique<std::atomic<std::uint32_t>[]>(layout_.shape.packet_count)},
      reclaimed_(context.boot.size()) {
  base::descriptor file;
  std::tie(segment_, file) = segment::create(layout_.bytes);
  segment_header& own = header();
  own.magic = segment_magic;
  own.rank = self_;
  own.process_id = static_cast<std::uint32_t>(getpid());
  own.shape = layout_.shape;
  own.probe_address = reinterpret_cast<std::uint64_t>(&probe_word_);
  own.probe_value = probe_word_;

  for (std::uint32_t rank = 0; rank < context.boot.size(); ++rank) {
    peers_.push_back(std::make_unique<peer>(self_, rank, layout_));
  }
  allow_launcher_to_read(context.settings.launcher_pid.value_or(static_cast<std::uint32_t>(getppid())));
  const bool wanted = context.settings.shm_cma != base::cma_mode::off;
  // Done before the last fence: after it a rank that can't start may take its segment away.
  reaches_all_ = meet_peers(context, base(), file, layout_.bytes, peers_, [&] {
    for (auto& other : peers_) {
      if (other->is_attached()) other->probe(wanted);
    }
  });
  watch_peers();
}

void shm_transport::watch_peers() {
  for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
    if (!peers_[rank]->is_attached() || !peers_[rank]->connection()) continue;
    connections_.push_back({peers_[rank]->connection().get(), 0, 0});
    connected_ranks_.push_back(rank);
  }
}

std::size_t shm_transport::find_ended(std::span<ended_peer> out) noexcept {
  if (connections_.empty() || ::poll(connections_.data(), connections_.size(), 0) <= 0) return 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i < connections_.size() && found < out.size(); ++i) {
    if (connections_[i].revents == 0) continue;
    peer& ended = *peers_[connected_ranks_[i]];
    out[found++] = {ended.rank(), ended.ends_in_order()};
    ended.note_end();
    connections_[i].fd = -1;  // which the kernel ignores
  }
  return found;
}

shm_transport::~shm_transport() { forget_segment(base()); }

slot& shm_transport::begin(std::uint32_t index, std::uint32_t cells) {
  if (!slots_[index]) slots_[index] = std::make_unique<slot>(peers_, base(), layout_, index, cells, lent_to_.get());
  return *slots_[index];
}

void shm_transport::go_live(std::uint32_t index, bool only_named) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << index;
  // [device.only_named] relaxed -> [device.unnamed]: before the bit in `live`, which carries it.
  if (only_named) {
    header().only_named.fetch_or(bit, std::memory_order_relaxed);
  } else {
    header().only_named.fetch_and(~bit, std::memory_order_relaxed);
  }
  // [device.open] release -> [device.live]: the slot is made, and messages that come will be polled.
  header().live.fetch_or(bit, std::memory_order_release);
}

void shm_transport::close(std::uint32_t index) noexcept {
  // Device 0 ends last.
  // [shm.ends] release -> [shm.ended]: this rank ends in order.
  if (index == 0) header().ends_in_order.store(1, std::memory_order_release);
  // [device.close] relaxed: messages that still come are taken by the device that adopts the slot.
  header().live.fetch_and(~(std::uint64_t{1} << index), std::memory_order_relaxed);
}

unsigned shm_transport::reclaim_packets() noexcept {
  if (!reclaiming_.try_enter()) return 0;
  unsigned found = 0;
  for (std::uint32_t rank = 0; rank < reclaimed_.size(); ++rank) {
    if (!peers_[rank]->is_attached()) continue;
    found += reclaim_from(rank);
    if (peers_[rank]->has_ended()) [[unlikely]]
      found += reclaim_from_ended(rank);
  }
  reclaiming_.leave();
  return found;
}

unsigned shm_transport::reclaim_from(std::uint32_t rank) noexcept {
  auto* entries = reinterpret_cast<return_ring::entry*>(base() + layout_.return_ring(rank));
  unsigned found = 0;
  for (std::uint32_t& position = reclaimed_[rank]; found < layout_.shape.packet_count; ++position, ++found) {
    const std::uint32_t value = return_ring::take(entries, layout_.return_entries, position);
    if (value == 0) break;
    const std::uint32_t index = value - 1;
    std::uint32_t holder = rank + 1;
    // [shm.settle] acquire <- [shm.lend]: only the peer that the packet was lent to can return it, and once.
    if (index >= layout_.shape.packet_count ||
        !lent_to_[index].compare_exchange_strong(holder, 0, std::memory_order_acquire, std::memory_order_relaxed)) {
      count_refused();
      continue;
    }
    packets_->put(index);
  }
  return found;
}

// A rank that has ended returns no more packets, and reads none.
unsigned shm_transport::reclaim_from_ended(std::uint32_t rank) noexcept {
  unsigned found = 0;
  for (std::uint32_t index = 0; index < layout_.shape.packet_count; ++index) {
    std::uint32_t holder = rank + 1;
    // [shm.take_back] acquire <- [shm.lend]: as for [shm.settle].
    if (!lent_to_[index].compare_exchange_strong(holder, 0, std::memory_order_acquire, std::memory_order_relaxed)) {
      continue;
    }
    packets_->put(index);
    ++found;
  }
  return found;
}

}  // namespace weft::net::shm
