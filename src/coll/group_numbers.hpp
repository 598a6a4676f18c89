// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a group's collectives, and the tags of their messages: the group's name, the last bits of the number,
// and the label of the step.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "coll/group_names.hpp"
#include "coll/number_window.hpp"
#include "weft/error.hpp"

namespace weft::coll {

class epoch_barrier;
class group_state;
class kept_run;

/// **Threads**: any call `end`, `is_open`, `fail`, `failure`, `try_remove` and `is_busy`; one at a time, which starts
/// collectives, calls the others.
class group_numbers {
 public:
  group_numbers(group_state& group, group_name name) noexcept;
  ~group_numbers();
  group_numbers(const group_numbers&) = delete;
  group_numbers& operator=(const group_numbers&) = delete;

  /// The number of the next collective, which has to end by `end`. **Errors**: std::bad_alloc.
  [[nodiscard]] std::uint64_t take() {
    const std::uint64_t number = next_;
    if (number >= simple_below_) [[unlikely]]
      return take_slow();
    next_ = number + 1;
    return number;
  }
  /// Of a collective that was not started. Nothing happens if a later one was.
  void put_back(std::uint64_t number) noexcept {
    if (next_ == number_window::next(number)) next_ = number;
  }
  /// Takes the next number, and returns when its messages may be sent. **Blocking**: until all members have completed
  /// the collectives that had these tags; makes progress on the group's device.
  [[nodiscard]] std::uint64_t take_open() {
    const std::uint64_t number = next_;
    if (number >= simple_below_) [[unlikely]]
      return take_slow_open();
    next_ = number + 1;
    return number;
  }
  /// Waits for a number that was taken. **Errors**: as `refuse`, but for `backlog_full`.
  void wait_until_open(std::uint64_t number);
  [[nodiscard]] bool is_open(std::uint64_t number) const noexcept { return window_.is_open(number); }
  /// Refuses to start `collective`, whose number is not open. **Errors**: `backlog_full`; the error of a barrier that
  /// failed; `invalid_state` where a collective was destroyed before its end.
  [[noreturn]] void refuse(std::string_view collective) const;

  /// Starts a run once its numbers are open, in the order of numbers.
  void start_when_open(kept_run& late);
  /// Whether it was to be started so, and now isn't.
  [[nodiscard]] bool try_remove(kept_run& late) noexcept;

  /// The collective of this number is complete at this member.
  void end(std::uint64_t number) noexcept {
    if (window_.end(number)) [[unlikely]]
      enter_barrier();
  }
  /// The barrier that was entered last is complete.
  void pass_barrier() noexcept {
    if (window_.pass()) enter_barrier();
  }
  /// No further barrier will be complete: starts of numbers that are not open end with this error.
  void fail(errc reason) noexcept;
  /// `none` if nothing has failed.
  [[nodiscard]] errc failure() const noexcept {
    // [numbers.failure] acquire <- [numbers.fail]
    return failure_.load(std::memory_order_acquire);
  }
  /// Whether a barrier is under way. Behind the runs that it waits for.
  [[nodiscard]] bool is_busy() const noexcept;

  /// The tags of a collective, without a label.
  [[nodiscard]] std::uint64_t tag(std::uint64_t number) const noexcept {
    return name_ | (number & (number_window::numbers - 1)) << label_bits;
  }

 private:
  static constexpr unsigned label_bits = 12;
  static constexpr unsigned number_bits = 12;
  static_assert(number_window::numbers == 1U << number_bits);
  static_assert(group_name::leader_bits + group_name::number_bits + label_bits + number_bits == 64);

  [[nodiscard]] std::uint64_t take_slow();
  [[nodiscard]] std::uint64_t take_slow_open();
  void enter_barrier() noexcept;

  group_state* group_;
  std::uint64_t name_;
  std::uint64_t next_ = 0;
  // The first number behind `next_` that is not known to be open, or that has more to do.
  std::uint64_t simple_below_ = number_window::number_before_barrier(0);
  number_window window_;
  std::atomic<errc> failure_{errc::none};
  std::unique_ptr<epoch_barrier> barrier_;  // made for the first one
};

/// The numbers of a start: one for its steps and, in a checked group, one for the comparison before them.
class start_numbers {
 public:
  void take(group_numbers& numbers, bool has_comparison) {
    has_comparison_ = has_comparison;
    if (has_comparison) comparison_ = numbers.take();
    last_ = numbers.take();
  }
  /// Of a start that has failed before its steps.
  void put_back(group_numbers& numbers) noexcept {
    numbers.put_back(last_);
    if (has_comparison_) numbers.put_back(comparison_);
  }
  /// Once for each start, at its end.
  void end(group_numbers& numbers) noexcept {
    // [start.ended] relaxed <- [start.abandoned]: if this is missed, the group has failed all the same.
    if (is_abandoned_.load(std::memory_order_relaxed)) return;
    if (has_comparison_) numbers.end(comparison_);
    numbers.end(last_);
  }
  /// The start ends early: its messages may arrive later, so that its numbers stay in use.
  void abandon() noexcept {
    // [start.abandoned] relaxed -> [start.ended]
    is_abandoned_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t last() const noexcept { return last_; }
  [[nodiscard]] std::uint64_t comparison() const noexcept { return comparison_; }

  kept_run* next_late = nullptr;  // of `epoch_barrier`

 private:
  std::uint64_t last_ = 0;
  std::uint64_t comparison_ = 0;
  bool has_comparison_ = false;
  std::atomic<bool> is_abandoned_{false};
};

/// The number of a collective that the calling thread carries out itself, until its end.
class own_number {
 public:
  explicit own_number(group_numbers& numbers) : numbers_{numbers}, number_{numbers.take_open()} {}
  ~own_number() { numbers_.end(number_); }
  own_number(const own_number&) = delete;
  own_number& operator=(const own_number&) = delete;

  [[nodiscard]] std::uint64_t tag() const noexcept { return numbers_.tag(number_); }

 private:
  group_numbers& numbers_;
  std::uint64_t number_;
};

}  // namespace weft::coll
