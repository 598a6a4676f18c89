// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/locals.hpp"

#include <atomic>

#include "fiber/worker.hpp"
#include "weft/fiber_local.hpp"

namespace weft::fibers {

void*& locals::value(std::uint64_t key, void (*at_end)(void*) noexcept) {
  for (local& each : all_) {
    if (each.key == key) return each.value;
  }
  return all_.emplace_back(local{key, nullptr, at_end}).value;
}

void locals::end() noexcept {
  while (!all_.empty()) {
    const local last = all_.back();
    all_.pop_back();
    if (last.value != nullptr) last.at_end(last.value);
  }
}

void*& local_pointer(std::uint64_t key, void (*at_end)(void*) noexcept) {
  static thread_local locals of_thread;  // variable of the thread; a fiber has its own
  const worker* const here = worker::here();
  fiber_state* const me = here == nullptr ? nullptr : here->running();
  return (me == nullptr ? of_thread : me->kept).value(key, at_end);
}

std::uint64_t next_local_key() noexcept {
  static std::atomic<std::uint64_t> last{0};
  // [fiber.key] relaxed: hands out numbers, and nothing with them.
  return last.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weft::fibers
