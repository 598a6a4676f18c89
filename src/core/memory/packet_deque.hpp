// SPDX-License-Identifier: BSD-3-Clause
// A thread's own packets. The owner puts packets at the warm end and takes them there, or at the cold end for many
// bytes; other threads steal from the cold end (dang2016, 3.3; yan2025-lci, 5.1.2).
//
// Progress: no call waits. If another thread is inside, a call does nothing, and its caller tries elsewhere.
// Callers: any thread may call any function; mostly it is the owner. Linearization: inside the lock. Reuse: there is
// room for every packet of the pool, so a put never fails for space. Layout: lock and ends share the owner's line,
// which other threads take only when they have no packets left. Cost of a put or take by the owner, of any number of
// packets: one exchange and one store, all in its own cache. Model test: tests/model/packet_deque_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Atomics = detail::std_atomics>
class alignas(detail::cache_line_bytes) basic_packet_deque {
 public:
  /// `capacity` is a power of two and no smaller than the number of packets. Allocates; may throw std::bad_alloc.
  explicit basic_packet_deque(std::uint32_t capacity)
      : slots_{std::make_unique_for_overwrite<std::uint32_t[]>(capacity)}, mask_{capacity - 1} {}

  /// Puts all of them, the last one warmest. False: another thread is inside.
  [[nodiscard]] bool try_put(std::span<const std::uint32_t> packets) noexcept {
    if (!try_enter()) return false;
    for (const std::uint32_t packet : packets) write(warm_++, packet);
    leave();
    return true;
  }

  /// Takes the warmest into `out`, the warmest last; returns how many. None: it is empty, or another thread is inside.
  [[nodiscard]] std::size_t try_take(std::span<std::uint32_t> out) noexcept {
    if (!try_enter()) return 0;
    const std::size_t there = warm_ - cold_;
    const std::size_t taken = there < out.size() ? there : out.size();
    for (std::size_t i = taken; i > 0; --i) out[i - 1] = read(--warm_);
    leave();
    return taken;
  }

  /// False: it is empty, or another thread is inside.
  [[nodiscard]] bool try_take_coldest(std::uint32_t& packet) noexcept {
    if (!try_enter()) return false;
    const bool is_there = warm_ != cold_;
    if (is_there) packet = read(cold_++);
    leave();
    return is_there;
  }

  /// Takes the colder half, at least one packet and at most as many as fit into `loot`; returns how many.
  [[nodiscard]] std::size_t try_steal(std::span<std::uint32_t> loot) noexcept {
    if (!try_enter()) return 0;
    std::size_t wanted = (warm_ - cold_ + 1) / 2;
    if (wanted > loot.size()) wanted = loot.size();
    for (std::size_t i = 0; i < wanted; ++i) loot[i] = read(cold_++);
    leave();
    return wanted;
  }

 private:
  [[nodiscard]] bool try_enter() noexcept {
    // [deque.enter] acquire <- [deque.leave]: the slots and ends as the last thread inside left them.
    return !held_.exchange(true, std::memory_order_acquire);
  }
  void leave() noexcept {
    // [deque.leave] release -> [deque.enter]: the slots and ends.
    held_.store(false, std::memory_order_release);
  }
  void write(std::uint32_t position, std::uint32_t packet) noexcept {
    Atomics::write_nonatomic(&slots_[position & mask_], &packet, sizeof packet);
  }
  [[nodiscard]] std::uint32_t read(std::uint32_t position) const noexcept {
    std::uint32_t packet = 0;
    Atomics::read_nonatomic(&packet, &slots_[position & mask_], sizeof packet);
    return packet;
  }

  typename Atomics::template atomic<bool> held_{false};
  std::unique_ptr<std::uint32_t[]> slots_;
  std::uint32_t mask_;
  std::uint32_t cold_ = 0;  // position of the oldest packet
  std::uint32_t warm_ = 0;  // position after the newest
};

using packet_deque = basic_packet_deque<>;

}  // namespace weft::core
