// SPDX-License-Identifier: BSD-3-Clause
// The offsets of everything in a rank's segment. All ranks compute them from one shape.
//
// The segment is sparse: only pages that are used take memory, so room is laid out for every pair of devices.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "net/packet_stride.hpp"
#include "net/ring/cell_ring.hpp"
#include "net/shm/return_ring.hpp"
#include "net/transport.hpp"

namespace weft::net::shm {

/// The sizes on which all ranks of a job have to agree.
struct shape {
  std::uint32_t ranks = 0;
  std::uint32_t devices_max = 0;
  std::uint32_t ring_cells = 0;
  std::uint32_t packet_count = 0;
  std::uint64_t packet_bytes = 0;
  std::uint64_t shared_bytes = 0;

  friend bool operator==(const shape&, const shape&) = default;
};

// "WEFTSEG7": the digit is incremented with each change of the layout.
inline constexpr std::uint64_t segment_magic = 0x3747'4553'5446'4557;
inline constexpr std::size_t page_bytes = 4096;

/// The first page of a segment. Its owner writes all before `live` before any peer maps it.
struct segment_header {
  std::uint64_t magic;
  std::uint32_t rank;
  std::uint32_t process_id;
  shm::shape shape;
  std::uint64_t probe_address;  // address of eight bytes in the owner's own memory,
  std::uint64_t probe_value;    // which hold this
  // A line that seldom changes. Written by the owner: bit d is set while device d takes messages.
  // When the owner has ended, each peer that finds that out clears all bits.
  alignas(detail::cache_line_bytes) std::atomic<std::uint64_t> live;
  // Written by the owner: the devices among these that a message has to name.
  std::atomic<std::uint64_t> only_named;
  // Written by the owner: 1 once it destroys its runtime.
  std::atomic<std::uint32_t> ends_in_order;
  // Written by peers: how often any of them has opened a ring, so that the owner reads one word to look for new rings.
  std::atomic<std::uint64_t> opened;
  // Set by the owner, cleared by its peers.
  alignas(detail::cache_line_bytes) sleep_words sleepers;
};
static_assert(sizeof(segment_header) <= page_bytes);

struct layout {
  explicit layout(const shape& sizes) noexcept : shape{sizes} {
    return_entries = std::bit_ceil(sizes.packet_count + 1);
    ring_stride = ring_bytes(sizes.ring_cells);
    connects = page_bytes;
    returns = page_up(connects + sizeof(std::uint64_t) * sizes.devices_max * sizes.ranks);
    rings = page_up(returns + sizeof(return_ring::entry) * return_entries * sizes.ranks);
    packets = page_up(rings + ring_stride * sizes.devices_max * sizes.ranks * sizes.devices_max);
    shared = page_up(packets + packet_stride(sizes.packet_bytes) * sizes.packet_count);
    bytes = page_up(shared + sizes.shared_bytes);
  }

  /// The word in which rank `source` says which of its devices have a ring to the owner's device `device`.
  [[nodiscard]] std::size_t connect(std::uint32_t device, std::uint32_t source) const noexcept {
    return connects + sizeof(std::uint64_t) * (std::size_t{device} * shape.ranks + source);
  }
  /// The ring by which rank `peer` returns the owner's packets.
  [[nodiscard]] std::size_t return_ring(std::uint32_t peer) const noexcept {
    return returns + sizeof(return_ring::entry) * return_entries * peer;
  }
  /// The ring from device `source_device` of rank `source` to the owner's device `device`.
  [[nodiscard]] std::size_t ring(std::uint32_t device, std::uint32_t source,
                                 std::uint32_t source_device) const noexcept {
    return rings + ring_stride * ((std::size_t{device} * shape.ranks + source) * shape.devices_max + source_device);
  }

  shm::shape shape;
  std::size_t return_entries;
  std::size_t ring_stride;
  std::size_t connects;
  std::size_t returns;
  std::size_t rings;
  std::size_t packets;
  std::size_t shared;
  std::size_t bytes;

 private:
  static std::size_t page_up(std::size_t bytes) noexcept { return (bytes + page_bytes - 1) & ~(page_bytes - 1); }
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace weft::net::shm
