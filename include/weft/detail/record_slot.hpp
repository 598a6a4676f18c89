// SPDX-License-Identifier: BSD-3-Clause
// One slot of a queue: a sequence number and a record stored inline as words.
//
// The words are atomic because a consumer copies them before it knows whether they are its own: it may read while the
// next lap's producer writes; then its claim fails and the copy is thrown away. All accesses are relaxed; the sequence
// number orders them. Cost: as much as non-atomic loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "weft/detail/atomics.hpp"

namespace weft::detail {

/// A record of 56 bytes and its sequence number fill one cache line exactly.
template <class Record, class Atomics>
struct alignas((sizeof(Record) + 8) % cache_line_bytes == 0 ? cache_line_bytes : 8) record_slot {
  static_assert(std::is_trivially_copyable_v<Record>, "records are copied as words");
  static_assert(sizeof(Record) % 8 == 0 && sizeof(Record) > 0, "a record is a whole number of 8-byte words");

  using word = typename Atomics::template atomic<std::uint64_t>;
  static_assert(sizeof(word) == 8 && alignof(word) <= 8, "zeroed memory is used as atomics");
  static constexpr std::size_t word_count = sizeof(Record) / 8;

  word sequence;
  word words[word_count];

  /// Called by the producer that holds the slot.
  void write(const Record& record) noexcept {
    const auto* from = reinterpret_cast<const std::byte*>(&record);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < word_count; ++i) write_word(i, from + 8 * i);
  }

  /// Writes two words, then `rest_words` words from `rest`. The words behind them keep their values.
  void write_parts(std::uint64_t first, std::uint64_t second, const void* rest, std::size_t rest_words) noexcept {
    const auto* from = static_cast<const std::byte*>(rest);
    // [record_slot.write] relaxed -> [record_slot.read]: published by the store to `sequence`.
    words[0].store(first, std::memory_order_relaxed);
    // [record_slot.write] relaxed -> [record_slot.read]: published by the store to `sequence`.
    words[1].store(second, std::memory_order_relaxed);
    if (rest_words == 1) [[likely]] {  // without the loop's registers
      write_word(2, from);
      return;
    }
#pragma GCC unroll 5
    for (std::size_t i = 0; i < rest_words; ++i) write_word(2 + i, from + 8 * i);
  }

  /// Writes one word; words that are not put keep their values.
  void put(std::size_t index, std::uint64_t value) noexcept {
    // [record_slot.write] relaxed -> [record_slot.read]: published by the store to `sequence`.
    words[index].store(value, std::memory_order_relaxed);
  }
  /// Writes the word at address `from`.
  void put_from(std::size_t index, const void* from) noexcept {
    write_word(index, static_cast<const std::byte*>(from));
  }

  /// Called by any consumer, at any time; the copy is valid only if its claim of the position succeeds afterwards.
  void read(Record& record) const noexcept {
    auto* to = reinterpret_cast<std::byte*>(&record);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < word_count; ++i) {
      // [record_slot.read] relaxed <- [record_slot.write]: published by `sequence`, which was acquired before.
      const std::uint64_t copy = words[i].load(std::memory_order_relaxed);
      std::memcpy(to + 8 * i, &copy, 8);
    }
  }

 private:
  void write_word(std::size_t index, const std::byte* from) noexcept {
    std::uint64_t copy;
    std::memcpy(&copy, from, 8);
    // [record_slot.write] relaxed -> [record_slot.read]: the release of `sequence` that follows publishes it.
    words[index].store(copy, std::memory_order_relaxed);
  }
};

}  // namespace weft::detail
