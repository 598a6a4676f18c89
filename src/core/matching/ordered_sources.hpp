// SPDX-License-Identifier: BSD-3-Clause
// The sources of an ordered engine: the next number of each, and how many of its messages are early. Counts the
// messages that are put in order, in steps. **Threads**: one at a time.
//
// Cost of a message that is in its order: the source's word, one addition, one test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assertion.hpp"

namespace weft::core {

class ordered_sources {
 public:
  struct source {
    std::uint32_t next_sequence = 0;
    std::uint32_t early_count = 0;
  };
  enum class delivery : std::uint8_t { now, later, never };

  /// `step`: a power of two, of which `first_sequence` is a multiple. Throws std::bad_alloc.
  ordered_sources(std::uint32_t count, std::uint32_t first_sequence, std::uint32_t step)
      : count_{count}, within_step_{step - 1}, alone_in_step_{step - 1}, all_{std::make_unique<source[]>(count)} {
    for (std::uint32_t rank = 0; rank < count; ++rank) all_[rank].next_sequence = first_sequence;
  }

  [[nodiscard]] std::uint32_t step() const noexcept { return within_step_ + 1; }
  [[nodiscard]] source& source_of(std::uint32_t rank) noexcept {
    WEFT_ASSERT_CHECKED(rank < count_);
    return all_[rank];
  }
  [[nodiscard]] std::uint32_t rank_of(const source& counted_source) const noexcept {
    return static_cast<std::uint32_t>(&counted_source - all_.get());
  }

  /// When a message with this number is to be delivered. Numbers wrap around: a number is early if it is ahead by less
  /// than half of all numbers.
  [[nodiscard]] delivery delivery_of(std::uint32_t rank, std::uint32_t sequence) const noexcept {
    if (rank >= count_) return delivery::never;
    const auto ahead = static_cast<std::int32_t>(sequence - all_[rank].next_sequence);
    return ahead == 0 ? delivery::now : ahead > 0 ? delivery::later : delivery::never;
  }

  /// All messages of `from` before the number `next` are in order. False: a step may have ended, or early messages may
  /// follow.
  [[nodiscard]] [[gnu::always_inline]] bool advance(source& from, std::uint32_t next) noexcept {
    from.next_sequence = next;
    return (next & alone_in_step_) != 0;
  }
  /// Whether the last message of `from` has ended a step.
  [[nodiscard]] bool has_ended_step(const source& from) const noexcept {
    return (from.next_sequence & within_step_) == 0;
  }
  /// How many messages of `rank` are in order that no full step has counted.
  [[nodiscard]] std::uint32_t within_step(std::uint32_t rank) const noexcept {
    return all_[rank].next_sequence & within_step_;
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  /// Whether any source has early messages.
  void set_early(bool has_early) noexcept { alone_in_step_ = has_early ? 0 : within_step_; }

 private:
  std::uint32_t count_;
  std::uint32_t within_step_;    // the bits of a number that count within a step
  std::uint32_t alone_in_step_;  // `within_step_`, or 0 while a message is early: one test finds both rare cases
  std::unique_ptr<source[]> all_;
};

}  // namespace weft::core
