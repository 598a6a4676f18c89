// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/packet_pool.hpp"
#include "net/packet_stride.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <span>
#include <utility>

namespace weft::core {

packet_pool::packet_pool(std::byte* memory, std::uint32_t count, std::uint32_t packet_bytes)
    : memory_{memory},
      stride_{net::packet_stride(packet_bytes)},
      count_{count},
      packet_bytes_{packet_bytes},
      round_{std::min(count / 8, round_max)},
      strays_{count},
      caches_{count} {}

packet_pool::~packet_pool() {
  for (auto& deque : deques_) {
    // [pool.end] relaxed: no thread uses a pool that is being destroyed.
    delete deque.load(std::memory_order_relaxed);
  }
}

bool packet_pool::is_consistent() noexcept {
  std::unique_ptr<bool[]> seen;
  try {
    seen = std::make_unique<bool[]>(count_);
  } catch (const std::bad_alloc&) {
    return true;
  }
  const auto is_new = [&](std::uint32_t packet) {
    return packet < fresh_.load(std::memory_order_relaxed) && !std::exchange(seen[packet], true);  // [own] at the end
  };
  for (std::uint32_t slot = 0; slot < caches_.count(); ++slot) {
    const packet_cache& each = caches_.cache_of(slot);
    if (!std::all_of(each.packets.begin(), each.packets.begin() + each.count, is_new)) return false;
  }
  for (const auto& deque : deques_) {
    packet_deque* const each = deque.load(std::memory_order_relaxed);  // [own] at the end
    for (std::uint32_t packet = 0; each != nullptr && each->try_take({&packet, 1}) != 0;) {
      if (!is_new(packet)) return false;
    }
  }
  for (std::uint32_t packet = strays_.pop(); packet != none; packet = strays_.pop()) {
    if (!is_new(packet)) return false;
  }
  return true;
}

packet_deque* packet_pool::make_deque(std::uint32_t slot) noexcept {
  try {
    auto made = std::make_unique<packet_deque>(std::bit_ceil(count_));
    // [pool.adopt] release -> [pool.own], [pool.victim]: the deque is made. Only the slot's one thread writes here.
    deques_[slot].store(made.get(), std::memory_order_release);
    // [pool.slots] relaxed: the newest deque, which a stealing thread may miss, is still empty.
    std::uint32_t used = slots_used_.load(std::memory_order_relaxed);
    while (used <= slot && !slots_used_.compare_exchange_weak(used, slot + 1, std::memory_order_relaxed)) {
    }
    return made.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// The warmest packet of the thread's deque; a few more, up to half a cache, move into the thread's cache.
std::uint32_t packet_pool::get_from(packet_deque& own, std::uint32_t slot) noexcept {
  std::array<std::uint32_t, packet_cache::packets_max / 2> some;
  const std::size_t taken = own.try_take(std::span{some}.first(caches_.has(slot) ? some.size() : 1));
  if (taken == 0) return none;
  for (std::size_t i = 0; i + 1 < taken; ++i) put(some[i]);
  return some[taken - 1];
}

std::uint32_t packet_pool::get_more(std::uint32_t slot) noexcept {
  packet_deque* const own = own_deque(slot);
  std::uint32_t packet = none;
  if (own != nullptr && (packet = get_from(*own, slot)) != none) return packet;
  if (may_extend_round(slot) && (packet = take_fresh()) != none) {
    ++caches_.cache_of(slot).in_round;
    return packet;
  }
  if (source_ != nullptr && source_->reclaim_packets() > 0) {
    if (caches_.has(slot) && !caches_.cache_of(slot).is_empty()) return caches_.cache_of(slot).take();
    if (own != nullptr && (packet = get_from(*own, slot)) != none) return packet;
  }
  if (!strays_.looks_empty() && (packet = strays_.pop()) != none) return packet;
  if ((packet = take_fresh()) != none) return packet;
  return steal(own);
}

// The packet that was free for longest, once the thread's round is large enough. Packets that peers have returned are
// reclaimed only when the thread has no other: reclaimed one by one, their line would move between the cores each time.
// Packets keep their order from round to round, the thread's cache included. So packets that are neighbours in memory
// are written one after the other, and the processor fetches the lines of the next one meanwhile.
std::uint32_t packet_pool::get_cold(std::uint64_t bytes) noexcept {
  const std::uint32_t slot = detail::this_thread_slot();
  if (!caches_.has(slot)) return try_get();
  std::uint32_t packet = none;
  std::uint32_t& in_round = caches_.cache_of(slot).in_round;
  if (in_round < round_ && in_round * bytes < round_bytes && (packet = take_fresh()) != none) {
    ++in_round;
    return packet;
  }
  packet_deque* const own = own_deque(slot);
  if (own == nullptr) return try_get();
  if (own->try_take_coldest(packet)) return packet;
  packet_cache& cache = caches_.cache_of(slot);
  if (cache.is_empty() && source_->reclaim_packets() != 0 && own->try_take_coldest(packet)) return packet;
  if (!cache.is_empty() && own->try_put(cache.all())) {
    cache.drop_all();
    if (own->try_take_coldest(packet)) return packet;
  }
  return try_get();
}

// If the cache is full, its colder half moves to the deque. If a stealing thread is inside the deque, the calling
// thread does not wait: it puts the packet onto the stack that all threads share.
void packet_pool::put_away(std::uint32_t slot, std::uint32_t packet) noexcept {
  packet_deque* const own = own_deque(slot);
  if (caches_.has(slot) && own != nullptr) {
    packet_cache& mine = caches_.cache_of(slot);
    if (own->try_put(mine.colder_half())) {
      mine.drop_colder_half();
      mine.put(packet);
      return;
    }
  } else if (own != nullptr && own->try_put({&packet, 1})) {
    return;
  }
  strays_.push(packet);
}

std::uint32_t packet_pool::take_fresh() noexcept {
  // [pool.fresh] relaxed: hands out numbers; a packet never used before has nothing to publish.
  std::uint32_t next = fresh_.load(std::memory_order_relaxed);
  while (next < count_) {
    if (fresh_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) return next;
  }
  return none;
}

std::uint32_t packet_pool::steal(packet_deque* own) noexcept {
  // A variable of the thread.
  static thread_local std::uint32_t randomness = detail::this_thread_slot() * 2654435761U + 1;
  randomness = randomness * 1664525U + 1013904223U;
  const std::uint32_t used = slots_used_.load(std::memory_order_relaxed);  // [hint] as at [pool.slots]
  std::array<std::uint32_t, 64> loot;
  for (std::uint32_t i = 0; i < used; ++i) {
    // [pool.victim] acquire <- [pool.adopt]: the deque is made.
    packet_deque* victim = deques_[((randomness >> 8) + i) % used].load(std::memory_order_acquire);
    if (victim == nullptr || victim == own) continue;
    const std::size_t stolen = victim->try_steal(loot);
    if (stolen == 0) continue;
    // The warmest of the stolen packets is used now; this thread keeps the others.
    for (std::size_t k = 0; k + 1 < stolen; ++k) put(loot[k]);
    return loot[stolen - 1];
  }
  return none;
}

}  // namespace weft::core
