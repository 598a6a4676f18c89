// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/worker_sleep.hpp"

#include "base/clock.hpp"
#include "base/futex.hpp"

namespace weft::fibers {

worker_sleep::worker_sleep(device* progress) : device_{progress} {
  if (device_ != nullptr) alarm_.emplace(device_->runtime());
}

void worker_sleep::stop() noexcept {
  // [fiber.stop] seq_cst -> [fiber.stops]: before the look for sleepers.
  stops_.store(true, std::memory_order_seq_cst);
  wake();
}

void worker_sleep::wake() noexcept {
  if (alarm_) {
    static_cast<void>(alarm_->signal(completion_record{}));
  } else {
    // [fiber.woken] release -> [fiber.before_sleep]: the wish alone; the bits order the work.
    woken_.fetch_add(1, std::memory_order_release);
    base::wake_all(woken_);
  }
}

void worker_sleep::sleep_at_word(std::uint32_t before) noexcept {
  base::sleep_while({&woken_, before}, {}, base::clock::now() + std::chrono::milliseconds{100});
}

bool worker_sleep::is_rest_due(bool has_progressed, std::uint64_t moves, bool is_round_over) noexcept {
  if (device_ == nullptr || has_progressed || moves != last_moves_) {
    last_moves_ = moves;
    rounds_of_polls_ = 0;
    return false;
  }
  // Not in the middle of a round: fibers that are ready have not looked yet.
  return is_round_over && ++rounds_of_polls_ >= rounds_before_rest;
}

}  // namespace weft::fibers
