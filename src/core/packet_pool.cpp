#include "core/packet_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace weft::core {

packet_pool::packet_pool(std::byte* memory, std::uint32_t count, std::uint32_t packet_bytes)
    : memory_{memory},
      stride_{net::packet_stride(packet_bytes)},
      count_{count},
      packet_bytes_{packet_bytes},
      strays_{count} {}

packet_pool::~packet_pool() {
  for (auto& deque : deques_) {
    // [pool.end] relaxed: nobody uses a pool that is being destroyed.
    delete deque.load(std::memory_order_relaxed);
  }
}

packet_deque* packet_pool::make_deque(std::uint32_t slot) noexcept {
  try {
    auto made = std::make_unique<packet_deque>(std::bit_ceil(count_));
    // [pool.adopt] release -> [pool.own], [pool.victim]: the deque is made. Only the slot's one thread writes here.
    deques_[slot].store(made.get(), std::memory_order_release);
    // [pool.slots] relaxed: thieves that miss the newest deque miss nothing yet.
    std::uint32_t used = slots_used_.load(std::memory_order_relaxed);
    while (used <= slot && !slots_used_.compare_exchange_weak(used, slot + 1, std::memory_order_relaxed)) {  // [stat]
    }
    return made.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::uint32_t packet_pool::get_elsewhere(packet_deque* own) noexcept {
  std::uint32_t packet = none;
  if (source_ != nullptr && source_->reclaim_packets() > 0 && own != nullptr &&
      own->try_take(packet) == deque_result::ok) {
    return packet;
  }
  if (!strays_.looks_empty() && (packet = strays_.pop()) != none) return packet;
  if ((packet = take_fresh()) != none) return packet;
  return steal(own);
}

std::uint32_t packet_pool::take_fresh() noexcept {
  // [pool.fresh] relaxed: hands out numbers; a packet never used before has nothing to publish.
  std::uint32_t next = fresh_.load(std::memory_order_relaxed);
  while (next < count_) {
    if (fresh_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) return next;  // [stat]
  }
  return none;
}

std::uint32_t packet_pool::steal(packet_deque* own) noexcept {
  static thread_local std::uint32_t randomness = detail::this_thread_slot() * 2654435761U + 1;
  randomness = randomness * 1664525U + 1013904223U;
  const std::uint32_t used = slots_used_.load(std::memory_order_relaxed);  // [stat]
  std::array<std::uint32_t, 64> loot;
  for (std::uint32_t i = 0; i < used; ++i) {
    // [pool.victim] acquire <- [pool.adopt]: the deque is made.
    packet_deque* victim = deques_[((randomness >> 8) + i) % used].load(std::memory_order_acquire);
    if (victim == nullptr || victim == own) continue;
    const std::size_t stolen = victim->try_steal(loot);
    if (stolen == 0) continue;
    // The warmest of the loot is used now; the others become ours.
    for (std::size_t k = 0; k + 1 < stolen; ++k) put(loot[k]);
    return loot[stolen - 1];
  }
  return none;
}

}  // namespace weft::core
