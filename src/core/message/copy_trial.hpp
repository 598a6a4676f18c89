// SPDX-License-Identifier: BSD-3-Clause
// A trial of a way for long messages to travel, and the samples of several trials (copy_choice.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weft::core {

/// What a message has shown. Times are of any clock.
struct measured_copy {
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
  std::uint64_t time = 0;  // counts from the end of the message before it, or its begin, whichever is later
  std::uint64_t bytes = 0;
  bool counts = true;
};

/// The last samples of a method: each the time of a MiB.
class copy_samples {
 public:
  static constexpr std::size_t kept = 5;

  [[nodiscard]] unsigned count() const noexcept { return count_; }
  void add(std::uint32_t sample) noexcept {
    values_[next_] = sample;
    next_ = static_cast<std::uint8_t>((next_ + 1U) % kept);
    count_ = static_cast<std::uint8_t>(std::min<std::size_t>(count_ + 1U, kept));
  }
  /// The lower median; 0: there is no sample.
  [[nodiscard]] std::uint32_t score() const noexcept {
    if (count_ == 0) return 0;
    std::array<std::uint32_t, kept> sorted = values_;
    std::sort(sorted.begin(), sorted.begin() + count_);
    return sorted[(count_ - 1U) / 2];
  }

 private:
  std::array<std::uint32_t, kept> values_{};
  std::uint8_t count_ = 0;
  std::uint8_t next_ = 0;
};

/// A trial: some messages by one method.
class copy_trial {
 public:
  /// One more message has begun; how many there are.
  std::uint16_t begin() noexcept { return ++begun_; }
  [[nodiscard]] std::uint16_t begun() const noexcept { return begun_; }
  /// So many messages have begun after one that has just ended: they were under way together with it.
  void see_together(unsigned behind) noexcept {
    together_ = static_cast<std::uint16_t>(std::clamp<unsigned>(behind, together_, together_max));
  }
  void count(const measured_copy& shown) noexcept {
    ++counted_;
    bytes_ += shown.bytes;
    time_ += shown.time;
    if (shown.time <= longest_time_) return;
    longest_time_ = shown.time;
    longest_bytes_ = shown.bytes;
  }
  [[nodiscard]] unsigned counted() const noexcept { return counted_; }
  /// How many messages are to count, where a trial of messages that are alone has `alone`.
  [[nodiscard]] unsigned needed(unsigned alone) const noexcept { return alone + together_; }

  // If each message is alone, the longest one is left out: the system may have held it up. Of messages that are
  // under way together, one may have the time of all.
  [[nodiscard]] std::uint64_t time() const noexcept { return time_ - (leaves_longest_out() ? longest_time_ : 0); }
  [[nodiscard]] std::uint32_t sample() const noexcept {
    const std::uint64_t bytes = bytes_ - (leaves_longest_out() ? longest_bytes_ : 0);
    const std::uint64_t value = (time() << 10) / std::max<std::uint64_t>(bytes >> 10, 1);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(value, 1, std::numeric_limits<std::uint32_t>::max()));
  }

 private:
  static constexpr unsigned together_max = 256;

  [[nodiscard]] bool leaves_longest_out() const noexcept { return together_ == 0 && counted_ > 1; }

  std::uint64_t bytes_ = 0;  // bytes of messages that count
  std::uint64_t time_ = 0;
  std::uint64_t longest_time_ = 0;  // longest time of one of them
  std::uint64_t longest_bytes_ = 0;
  std::uint16_t begun_ = 0;
  std::uint16_t counted_ = 0;
  std::uint16_t together_ = 0;  // most messages that were under way behind another
};

}  // namespace weft::core
