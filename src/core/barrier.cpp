#include "core/barrier.hpp"

#include <bit>

#include "base/backoff.hpp"
#include "base/this_suspender.hpp"
#include "core/device_state.hpp"
#include "core/runtime_state.hpp"

namespace weft::core {

completion::answer barrier::signal(completion_record&& record) noexcept {
  const completion_record consumed{std::move(record)};
  const std::uint64_t turn = consumed.tag() / rounds_max % 2;
  // [barrier.arrive] release -> [barrier.wait]: what the other ranks did before.
  arrived_[turn][consumed.tag() % rounds_max].fetch_add(1, std::memory_order_release);
  return answer::taken;
}

void barrier::wait(device_state& through, std::uint32_t rank, std::uint32_t size) {
  const auto rounds = static_cast<std::uint32_t>(std::bit_width(size - 1));
  base::backoff waiting;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const auto to = static_cast<std::uint32_t>((rank + (std::uint64_t{1} << round)) % size);
    const net::header what = active_message_to(id, turn_ * rounds_max + round);
    while (through.post_inline(operation::active_message, {to, 0}, what, {}).is_retry()) {
      if (!through.progress() && !base::yield_to_fibers()) waiting.pause();
    }
    std::atomic<std::uint32_t>& mine = arrived_[turn_][round];
    // [barrier.wait] acquire <- [barrier.arrive]: what the other ranks did before.
    while (mine.load(std::memory_order_acquire) == 0) {
      if (through.progress()) {
        waiting.reset();
      } else {
        through.runtime().refuse_if_cut_off("barrier", to);
        if (!base::yield_to_fibers()) waiting.pause();
      }
    }
    // [barrier.next] relaxed: the same round of the barrier after next counts on from here.
    mine.fetch_sub(1, std::memory_order_relaxed);
  }
  turn_ ^= 1;
}

}  // namespace weft::core
