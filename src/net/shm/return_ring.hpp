// SPDX-License-Identifier: BSD-3-Clause
// The ring in which packets return: the threads of one peer put them in, the packets' owner takes them out.
//
// Progress: wait-free on both sides. Who calls what: `put` any thread of the peer, `take` one thread of the owner at a
// time. Linearization: the store of the entry, and its emptying. A thread or process that stops in the middle of `put`
// hides the entries after its own, until it continues or its death is noticed.
// Reuse: there are more entries than packets, and only a lent packet can be put in. So among a position and the `count`
// positions before it, some packet was put in twice. Between the two the owner took that packet out, and everything
// before it, also the old content of this position's entry. The thread that put the packet in again learnt of that by
// getting the packet; later threads learn of it by their position. Positions are 32 bits and wrap; entries are a power
// of two.
// Layout: an entry is the packet's index + 1, zero is empty. Model test: tests/model/return_ring_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/atomics.hpp"
#include "weft/detail/atomics_support.hpp"

namespace weft::net::shm {

template <class Atomics = detail::std_atomics>
struct basic_return_ring {
  using entry = typename Atomics::template atomic<std::uint32_t>;
  using position = typename Atomics::template atomic<std::uint32_t>;  // shared by the peer's threads, in their memory

  static void put(entry* entries, std::size_t count, position& next, std::uint32_t packet) noexcept {
    // [return_ring.position] acq_rel -> [return_ring.position]: passes on that the entry was emptied.
    const std::uint32_t index = next.fetch_add(1, std::memory_order_acq_rel);
    // [return_ring.put] release -> [return_ring.take]: the peer has read the packet to the end.
    entries[index & (count - 1)].store(packet + 1, std::memory_order_release);
  }

  /// The packet put in at position `index`, plus 1; 0 if there is none yet. The next call is for the next position.
  static std::uint32_t take(entry* entries, std::size_t count, std::uint32_t index) noexcept {
    entry& first = entries[index & (count - 1)];
    // [return_ring.take] acquire <- [return_ring.put]: the peer has read the packet to the end.
    const std::uint32_t found = first.load(std::memory_order_acquire);
    if (found == 0) return 0;
    // [return_ring.empty] relaxed: the next thread that puts something here comes after it ("Reuse" above).
    first.store(0, std::memory_order_relaxed);
    detail::atomics_support<Atomics>::confirm_read(&first, sizeof first);
    return found;
  }
};

using return_ring = basic_return_ring<>;

}  // namespace weft::net::shm
