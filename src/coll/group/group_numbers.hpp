// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a group's collectives, and the tags of their messages: the group's name, the last bits of the number,
// and the label of the step.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "coll/args/collective_args.hpp"
#include "coll/group/group_names.hpp"
#include "coll/group/number_window.hpp"
#include "weft/error.hpp"

namespace weft::coll {

class epoch_barrier;
class group_state;
class deferred_start;

/// **Threads**: any call `end`, `is_open`, `fail`, `failure`, `try_remove` and `is_busy`; one at a time, which starts
/// collectives, calls the others.
class group_numbers {
 public:
  group_numbers(group_state& group, group_name name) noexcept;
  ~group_numbers();
  group_numbers(const group_numbers&) = delete;
  group_numbers& operator=(const group_numbers&) = delete;

  /// The number of the next collective, which has to end by `end`. **Errors**: std::bad_alloc.
  [[nodiscard]] std::uint64_t take(operation which) {
    const std::uint64_t number = next();
    note(number, which);
    if (number >= simple_below_) [[unlikely]]
      return take_slow();
    set_next(number + 1);
    return number;
  }
  /// Takes back the number of a collective that was not started. Does nothing if a later one was.
  void put_back(std::uint64_t number) noexcept {
    if (next() == number_window::next(number)) set_next(number);
  }
  /// Takes the next number, and returns when its messages may be sent. **Blocking**: until all members have completed
  /// the collectives that had these tags; makes progress on the group's device.
  [[nodiscard]] std::uint64_t take_open(operation which) {
    const std::uint64_t number = next();
    note(number, which);
    if (number >= simple_below_) [[unlikely]]
      return take_slow_open();
    set_next(number + 1);
    return number;
  }
  /// Waits for a number that was taken. **Errors**: as `refuse`, but for `backlog_full`.
  void wait_until_open(std::uint64_t number);
  [[nodiscard]] bool is_open(std::uint64_t number) const noexcept { return window_.is_open(number); }
  /// Refuses to start `collective`, whose number is not open. **Errors**: `backlog_full`; the error of a barrier that
  /// failed; `invalid_state` where a collective was destroyed before its end.
  [[noreturn]] void refuse(std::string_view collective) const;

  /// Starts a run once its numbers are open, in the order of numbers.
  void start_when_open(deferred_start& start);
  /// Whether it was to be started so, and now isn't.
  [[nodiscard]] bool try_remove(deferred_start& start) noexcept;

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
  /// Whether a barrier is under way. It ends after the runs that it waits for.
  [[nodiscard]] bool is_busy() const noexcept;

  /// The name of the group.
  [[nodiscard]] group_name name() const noexcept {
    constexpr std::uint64_t number_mask = (std::uint64_t{1} << group_name::number_bits) - 1;
    const std::uint64_t bits = name_ >> (label_bits + number_bits);
    return {static_cast<std::uint32_t>(bits >> group_name::number_bits),
            static_cast<std::uint32_t>(bits & number_mask)};
  }
  /// The number of the next collective. **Threads**: any; others than the one that starts collectives may see an older
  /// one.
  [[nodiscard]] std::uint64_t next() const noexcept {
    return next_.load(std::memory_order_relaxed);  // [own] and a [hint] for reports
  }
  /// Reports ask for the operation of this number, one of the last before `next`. **Threads**: any.
  [[nodiscard]] std::optional<operation> operation_of(std::uint64_t number) const noexcept {
    const std::uint64_t now = next();
    if (number >= now || now - number > last_operations_.size()) return std::nullopt;
    return last_operations_[number % last_operations_.size()].load(std::memory_order_relaxed);  // [hint]
  }
  /// Reports ask for the number here of the collective whose messages have this tag; nothing if they are of another
  /// group.
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::uint64_t tag) const noexcept {
    constexpr unsigned bits = label_bits + number_bits;
    if (tag >> bits != name_ >> bits) return std::nullopt;
    const std::uint64_t now = next();
    // The one of its residue that is nearest to the next number.
    const auto ahead = static_cast<std::uint32_t>((tag >> label_bits) - now) % number_window::numbers;
    const bool is_before = ahead >= number_window::numbers / 2 && now + ahead >= number_window::numbers;
    return now + ahead - (is_before ? number_window::numbers : 0);
  }

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
  void set_next(std::uint64_t number) noexcept { next_.store(number, std::memory_order_relaxed); }  // [own]
  void note(std::uint64_t number, operation which) noexcept {
    last_operations_[number % last_operations_.size()].store(which, std::memory_order_relaxed);  // [own], for reports
  }
  void enter_barrier() noexcept;

  group_state* group_;
  std::uint64_t name_;
  std::atomic<std::uint64_t> next_{0};
  std::array<std::atomic<operation>, 16> last_operations_{};  // the index is a number's last bits
  // The first number behind `next_` that is not known to be open, or that has more to do.
  std::uint64_t simple_below_ = number_window::number_before_barrier(0);
  number_window window_;
  std::atomic<errc> failure_{errc::none};
  std::unique_ptr<epoch_barrier> barrier_;  // made for the first one
};

/// The numbers of a start: one for its steps and, in a checked group, one for the comparison before them.
class start_numbers {
 public:
  void take(group_numbers& numbers, operation which, bool has_comparison) {
    has_comparison_ = has_comparison;
    if (has_comparison) comparison_ = numbers.take(which);
    last_ = numbers.take(which);
  }
  /// Takes back the numbers of a start that has failed before its steps.
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

 private:
  std::uint64_t last_ = 0;
  std::uint64_t comparison_ = 0;
  bool has_comparison_ = false;
  std::atomic<bool> is_abandoned_{false};
};

/// The number of a collective that the calling thread carries out itself, until its end.
class own_number {
 public:
  own_number(group_numbers& numbers, operation which) : numbers_{numbers}, number_{numbers.take_open(which)} {}
  ~own_number() { numbers_.end(number_); }
  own_number(const own_number&) = delete;
  own_number& operator=(const own_number&) = delete;

  [[nodiscard]] std::uint64_t tag() const noexcept { return numbers_.tag(number_); }

 private:
  group_numbers& numbers_;
  std::uint64_t number_;
};

}  // namespace weft::coll
