// SPDX-License-Identifier: BSD-3-Clause
// The operations that flushes wait for, counted by rank and kind, and by region.
//
// Cost to a message: one count; to a put or atomic that is not complete in its post: two (flush_word.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/runtime/flush_word.hpp"
#include "weft/detail/flush_mark.hpp"

namespace weft::core {

/// What a flush waits for: all operations with `peer`, or puts and atomics alone, or those of one region.
struct flush_request {
  std::uint32_t peer = 0;
  bool transfers_only = false;
  std::uint64_t region = 0;  // its name; 0: all
};

/// The place where an operation is counted, in the byte that it keeps.
struct flush_count {
  bool is_transfer = false;  // a put or atomic
  std::uint8_t of_rank = 0;  // halves
  std::uint8_t of_region = 0;

  [[nodiscard]] static constexpr flush_count from(std::uint8_t bits) noexcept {
    return {(bits & 1) != 0, static_cast<std::uint8_t>(bits >> 1 & 1), static_cast<std::uint8_t>(bits >> 2 & 1)};
  }
  [[nodiscard]] constexpr std::uint8_t bits() const noexcept {
    return static_cast<std::uint8_t>(static_cast<unsigned>(is_transfer) | of_rank << 1U | of_region << 2U);
  }
};

class flush_counts {
 public:
  explicit flush_counts(std::uint32_t ranks) : by_rank_{std::make_unique<counts_of_rank[]>(ranks)} {}

  /// An operation begins; `region` is of a put or atomic. **Returns** what `end` takes.
  [[nodiscard]] flush_count begin(std::uint32_t peer, bool is_transfer, std::uint64_t region) noexcept {
    flush_count out{.is_transfer = is_transfer};
    out.of_rank = static_cast<std::uint8_t>(word_of(peer, is_transfer).begin());
    if (is_transfer) out.of_region = static_cast<std::uint8_t>(word_of_region(peer, region).begin());
    return out;
  }
  /// It is complete. **Returns** whether flushes have to look.
  [[nodiscard]] bool end(std::uint32_t peer, const flush_count& counted, std::uint64_t region) noexcept {
    bool out = counted.is_transfer && word_of_region(peer, region).end(counted.of_region);
    out |= word_of(peer, counted.is_transfer).end(counted.of_rank);
    return out;
  }

  [[nodiscard]] detail::flush_mark mark(const flush_request& request) noexcept {
    if (request.region != 0) return {true, word_of_region(request.peer, request.region).epoch(), 0};
    return {true, word_of(request.peer, true).epoch(), word_of(request.peer, false).epoch()};
  }
  /// Whether all operations are complete that had begun before `since`. A flush of a region may also wait for another
  /// region that is counted in one word with it.
  [[nodiscard]] bool is_through(const flush_request& request, const detail::flush_mark& since) noexcept {
    if (request.region != 0) return word_of_region(request.peer, request.region).is_through(since.first);
    return word_of(request.peer, true).is_through(since.first) &&
           (request.transfers_only || word_of(request.peer, false).is_through(since.second));
  }

 private:
  struct counts_of_rank {
    flush_word transfers;
    flush_word messages;
  };
  static constexpr std::size_t region_words = 256;

  [[nodiscard]] flush_word& word_of(std::uint32_t peer, bool is_transfer) noexcept {
    return is_transfer ? by_rank_[peer].transfers : by_rank_[peer].messages;
  }
  // Regions that a rank makes one after the other have successive numbers.
  [[nodiscard]] flush_word& word_of_region(std::uint32_t peer, std::uint64_t region) noexcept {
    constexpr std::uint64_t stride = 37;
    return by_region_[(region + peer * stride) % region_words];
  }

  std::unique_ptr<counts_of_rank[]> by_rank_;
  std::array<flush_word, region_words> by_region_;
};

}  // namespace weft::core
