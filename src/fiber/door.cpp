// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/door.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "base/backoff.hpp"
#include "base/not_inherited.hpp"

namespace weft::fibers {
namespace {

door* free_doors = nullptr;

// Guards `free_doors`. Never destroyed, as schedulers may be static objects.
base::process_lock& free_doors_lock() {
  static base::process_lock& lock = *new base::process_lock;
  return lock;
}

door& take_door(worker& behind) {
  door* out = nullptr;
  {
    const std::scoped_lock lock{free_doors_lock()};
    out = free_doors;
    if (out != nullptr) free_doors = out->next;
  }
  if (out == nullptr) out = new door;
  out->behind = &behind;
  return *out;
}

}  // namespace

door_owner::door_owner(worker& behind) : door_{take_door(behind)} {}

door_owner::~door_owner() {
  if (scheduler_ != 0) return;
  const std::scoped_lock lock{free_doors_lock()};
  door_.next = std::exchange(free_doors, &door_);
}

void door_owner::open(std::uint32_t scheduler) noexcept {
  scheduler_ = scheduler;
  door_.open(scheduler);
}

void door_owner::close() noexcept {
  if (scheduler_ == 0) return;
  door_.close(std::exchange(scheduler_, 0));
  for (base::backoff waiting; !door_.is_empty();) waiting.pause();
}

std::uint32_t next_scheduler_number() noexcept {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t out = 0;
  // [fiber.scheduler_number] relaxed: hands out numbers, and nothing with them.
  while (out == 0) out = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return out;
}

}  // namespace weft::fibers
