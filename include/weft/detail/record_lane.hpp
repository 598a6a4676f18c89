// SPDX-License-Identifier: BSD-3-Clause
// A bounded queue for one producer and many consumers.
//
// Who: one thread at a time pushes; the user of the lane orders a change of that thread. Any thread may pop.
//
// Progress: try_push is wait-free and has no atomic read-modify-write; the consumers' side is record_ring.hpp.
// Linearization: a push at its publication. False from try_push: the lane was full when the head was read.
//
// Layout: the ring with the consumers' line, then the producer's line. Model test: tests/model/queue_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/record_ring.hpp"

namespace weft::detail {

template <class Record, class Atomics = std_atomics>
class record_lane final : public record_ring<Record, Atomics> {
  using ring = record_ring<Record, Atomics>;

 public:
  /// Room for `capacity` records. Throws std::bad_alloc.
  explicit record_lane(std::size_t capacity) : ring{capacity, capacity} {}

  /// False: full.
  [[nodiscard]] bool try_push(const Record& record) noexcept {
    return push_with([&](slot& mine) { mine.write(record); });
  }

  /// Pushes a record that is written in place: its first two words, then `rest_words` words from `rest`.
  [[nodiscard]] bool try_push_parts(std::uint64_t first, std::uint64_t second, const void* rest,
                                    std::size_t rest_words) noexcept {
    return push_with([&](slot& mine) { mine.write_parts(first, second, rest, rest_words); });
  }

  /// Pushes a record that `write` puts into its slot, if there is room by the head that was read last. False: nothing
  /// has happened.
  template <class Write>
  [[nodiscard]] [[gnu::always_inline]] bool fast_push(Write write) noexcept {
    const std::uint64_t position = tail_.load(std::memory_order_relaxed);  // [own]
    if (!is_known_free(position)) [[unlikely]]
      return false;
    push_at(position, write);
    return true;
  }

  /// Counts its producer's pops, for a queue of several lanes; returns their number. **Threads**: the producer's.
  [[nodiscard]] std::uint32_t count_pop() noexcept { return ++pops_; }
  [[nodiscard]] std::uint32_t pops() const noexcept { return pops_; }

  /// How many records are pushed and not popped; exact only while no thread pushes or pops.
  [[nodiscard]] std::size_t approximate_size() const noexcept {
    return ring::approximate_size_before(tail_.load(std::memory_order_relaxed));  // [hint]
  }

 private:
  using typename ring::counter;
  using typename ring::slot;

  template <class Write>
  [[gnu::always_inline]] bool push_with(Write write) noexcept {
    const std::uint64_t position = tail_.load(std::memory_order_relaxed);  // [own]
    if (!is_known_free(position)) [[unlikely]] {
      known_head_ = ring::passed();
      if (!is_known_free(position)) return false;
    }
    push_at(position, write);
    return true;
  }

  [[nodiscard]] bool is_known_free(std::uint64_t position) const noexcept {
    return static_cast<std::int64_t>(position - known_head_) < ring::room();
  }

  template <class Write>
  [[gnu::always_inline]] void push_at(std::uint64_t position, Write write) noexcept {
    slot& mine = ring::slot_at(position);
    write(mine);
    // Comes before the publication: the thread that pops the record may destroy the lane.
    tail_.store(position + 1, std::memory_order_relaxed);  // [own] others read it as a hint
    ring::publish(mine, position);
  }

  // Written by the producer; the copy of the head saves it a read of the consumers' line while there is room.
  alignas(cache_line_bytes) counter tail_{0};
  std::uint64_t known_head_ = 0;
  std::uint32_t pops_ = 0;
};

}  // namespace weft::detail
