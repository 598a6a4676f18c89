// SPDX-License-Identifier: BSD-3-Clause
// Which numbers of a group's collectives are free. Numbers count all collectives of a group; tags have their last 12
// bits, so that two collectives whose numbers differ by 4096 have the same tags.
//
// The numbers of tags are four epochs. The last number of each epoch is its barrier's. A member enters that barrier
// when its own collectives of the epoch are complete, and after it has passed the barrier of the epoch before. When it
// passes the barrier, all members have entered it: all messages of the epoch, and of its predecessor's barrier, have
// arrived at all members. From then on the member starts collectives of the epoch that has the same tags, four epochs
// later. So no number of tags is in use twice at any member.
//
// Progress: wait-free. Threads: any call `end` and `is_open`; `pass` is called once for each barrier, in their order.
// Linearization: `is_open` at its load, `pass` at its store of the limit, `end` at its subtraction. Of the ends of an
// epoch and the `pass` of the epoch before, exactly one answers that the caller enters the barrier. Reuse: `pass` sets
// the count of the epoch again before it opens its numbers. Layout: the words are written once a collective.
// Model test: tests/model/number_window_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::coll {

template <class Atomics = detail::std_atomics, std::uint32_t EpochNumbers = 1U << 10>
class basic_number_window {
 public:
  static constexpr std::uint32_t epochs = 4;
  static constexpr std::uint32_t epoch_numbers = EpochNumbers;
  static constexpr std::uint32_t numbers = epochs * epoch_numbers;

  /// The last number of a collective in this epoch; epochs are counted from 0 on. The next number is the barrier's.
  [[nodiscard]] static constexpr std::uint64_t number_before_barrier(std::uint64_t epoch) noexcept {
    return barrier_number(epoch) - 1;
  }
  [[nodiscard]] static constexpr bool is_before_barrier(std::uint64_t number) noexcept {
    return number % epoch_numbers == epoch_numbers - 2;
  }
  /// The number of the next collective.
  [[nodiscard]] static constexpr std::uint64_t next(std::uint64_t number) noexcept {
    return number + (is_before_barrier(number) ? 2 : 1);
  }
  /// The number of the barrier of this epoch.
  [[nodiscard]] static constexpr std::uint64_t barrier_number(std::uint64_t epoch) noexcept {
    return (epoch + 1) * epoch_numbers - 1;
  }

  /// Whether a collective of this number may start.
  [[nodiscard]] bool is_open(std::uint64_t number) const noexcept {
    // [window.open] acquire <- [window.pass]: the ends of earlier collectives, and the count of the epoch.
    return number < limit_.load(std::memory_order_acquire);
  }

  /// The collective of this number is complete here. **Returns**: whether the caller enters the barrier of its epoch.
  [[nodiscard]] bool end(std::uint64_t number) noexcept { return is_last(number / epoch_numbers); }

  /// This member has passed the oldest barrier that it had not passed. **Returns**: whether the caller enters the next.
  [[nodiscard]] bool pass() noexcept {
    const std::uint64_t limit = limit_.load(std::memory_order_relaxed);  // [own] one barrier after the other
    const std::uint64_t passed = limit / epoch_numbers - epochs;
    // [window.left] relaxed: [window.pass] hands it on.
    left_[passed % epochs].store(epoch_numbers, std::memory_order_relaxed);
    // [window.pass] release -> [window.open]: the ends of the epoch's collectives, and its count.
    limit_.store(limit + epoch_numbers, std::memory_order_release);
    return is_last(passed + 1);
  }

 private:
  bool is_last(std::uint64_t epoch) noexcept {
    // [window.end] acq_rel -> [window.end]: the collectives of the epoch, and the barrier before its own.
    return left_[epoch % epochs].fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  static constexpr std::uint32_t of_first_epoch = epoch_numbers - 1;  // no barrier is before it

  // The collectives of each epoch that are not complete, and 1 until the barrier before is passed.
  std::array<typename Atomics::template atomic<std::uint32_t>, epochs> left_{of_first_epoch, epoch_numbers,
                                                                             epoch_numbers, epoch_numbers};
  typename Atomics::template atomic<std::uint64_t> limit_{numbers};
};

using number_window = basic_number_window<>;

}  // namespace weft::coll
