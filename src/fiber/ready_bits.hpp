// SPDX-License-Identifier: BSD-3-Clause
// Which fibers of a worker are ready to run: a bit for each, and above them levels of hints, a bit for each word below
// (dang2016, 3.2).
//
// Cost: to make a fiber of one's own worker ready, a plain store on each level that is in use (one for 64 fibers, two
// for 4096). From another thread, one atomic `or`, and one more on each level where the hint isn't set yet. To take the
// next one, some instructions in registers; at the end of a word, an exchange for each word that others have written.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "weft/detail/atomics.hpp"

namespace weft::fibers {

/// **Threads**: the worker alone, but for `set`. A bit that is set is taken once, in this round or the next one; a bit
/// that is set again before it is taken is taken once. Progress: wait-free. Linearization: the `or` and the exchange of
/// the lowest word. Model test: tests/model/ready_bits_test.cpp.
template <class Atomics = detail::std_atomics>
class basic_ready_bits {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Holds slots below `capacity`, at most 2^24. **Errors**: std::bad_alloc.
  explicit basic_ready_bits(std::uint32_t capacity) {
    std::uint32_t bits = capacity;
    for (level& each : levels_) {
      const std::uint32_t words = (bits + 63) / 64;
      each.own = std::make_unique<std::uint64_t[]>(words);
      each.others = std::make_unique<word[]>(words);
      bits = words;
    }
  }

  /// `slot` may be set from now on. **Threads**: one at a time, before others can know of the slot.
  void use(std::uint32_t slot) noexcept {
    unsigned needed = 1;
    while (slot /= 64) ++needed;
    // [ready.grow] seq_cst -> [ready.depth], [ready.look]: a thread that sees fewer levels sets, and reads, words
    // without hints.
    if (needed > depth()) depth_.store(needed, std::memory_order_seq_cst);
  }

  /// Called by the worker itself.
  void set_own(std::uint32_t slot) noexcept {
    levels_[0].own[slot / 64] |= std::uint64_t{1} << slot % 64;
    for (unsigned each = 1, end = depth(); each < end; ++each) {
      slot /= 64;
      levels_[each].own[slot / 64] |= std::uint64_t{1} << slot % 64;
    }
  }

  /// Called by any thread.
  void set(std::uint32_t slot) noexcept {
    for (unsigned each = 0, end = depth(); each < end; ++each, slot /= 64) {
      const std::uint64_t bit = std::uint64_t{1} << slot % 64;
      word& bits = levels_[each].others[slot / 64];
      // [ready.hinted] relaxed: had the worker taken this hint for the word below before that was set, then the `or`
      // there would have seen the worker's exchange, and this would see that the hint is gone.
      if (each != 0 && (bits.load(std::memory_order_relaxed) & bit) != 0) continue;
      // [ready.set] seq_cst -> [ready.grab], [ready.look]: all stores before; and before the look for sleepers.
      bits.fetch_or(bit, std::memory_order_seq_cst);
    }
  }

  /// Whether all that was set when this round began has been taken. A round takes each slot once at most.
  [[nodiscard]] bool is_round_over() const noexcept {
    for (unsigned each = 0, end = depth(); each < end; ++each) {
      if (levels_[each].taken != 0) return false;
    }
    return true;
  }

  /// Whether there is something to `take_next`, and how much.
  [[nodiscard]] bool has_taken() const noexcept { return levels_[0].taken != 0; }
  [[nodiscard]] std::uint32_t taken_count() const noexcept {
    return static_cast<std::uint32_t>(std::popcount(levels_[0].taken));
  }
  /// The next slot. Only where `has_taken()`.
  [[nodiscard]] std::uint32_t take_next() noexcept {
    level& lowest = levels_[0];
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(lowest.taken));
    lowest.taken &= lowest.taken - 1;
    return lowest.index * 64 + bit;
  }
  /// Called when nothing is left to take: takes the next word that has something. False: there is none.
  [[nodiscard]] bool refill() noexcept {
    if (depth() > 1) return refill_by_hints();
    grab(levels_[0], 0, false);
    return has_taken();
  }

  /// The next slot, or `none` where there is nothing.
  [[nodiscard]] std::uint32_t take() noexcept { return has_taken() || refill() ? take_next() : none; }

  /// Whether another thread has set something that was not taken. Otherwise as `is_empty`.
  [[nodiscard]] bool is_set_by_others() const noexcept {
    // [ready.look] seq_cst <- [ready.set], [ready.grow]: all stores before.
    const unsigned end = depth_.load(std::memory_order_seq_cst);
    for (unsigned each = 0; each < end; ++each) {
      // [ready.look] seq_cst <- [ready.set]: all stores before.
      if (levels_[each].others[0].load(std::memory_order_seq_cst) != 0) return true;
    }
    return false;
  }

  /// Whether nothing is set. A thread that sets a bit after this sees the worker's seq_cst stores that come before.
  [[nodiscard]] bool is_empty() const noexcept {
    // [ready.look] seq_cst <- [ready.set], [ready.grow]: all stores before.
    const unsigned end = depth_.load(std::memory_order_seq_cst);
    for (unsigned each = 0; each < end; ++each) {
      const level& current = levels_[each];
      // [ready.look] seq_cst <- [ready.set]: all stores before.
      if (current.taken != 0 || current.own[0] != 0 || current.others[0].load(std::memory_order_seq_cst) != 0)
        return false;
    }
    return true;
  }

 private:
  static constexpr unsigned levels_max = 4;
  using word = typename Atomics::template atomic<std::uint64_t>;

  struct level {
    std::unique_ptr<std::uint64_t[]> own;
    std::unique_ptr<word[]> others;
    // The bits taken of the word at `index`, and which of them others have set.
    std::uint64_t taken = 0;
    std::uint64_t taken_of_others = 0;
    std::uint32_t index = 0;
  };

  [[nodiscard]] unsigned depth() const noexcept {
    // [ready.depth] relaxed <- [ready.grow]: see there.
    return depth_.load(std::memory_order_relaxed);
  }

  static void grab(level& current, std::uint32_t index, bool of_others) noexcept {
    current.index = index;
    current.taken = current.own[index];
    current.own[index] = 0;
    current.taken_of_others = 0;
    // [ready.first] relaxed: as in `begin_round`.
    if (!of_others && (index != 0 || current.others[0].load(std::memory_order_relaxed) == 0)) return;
    // [ready.grab] acq_rel <- [ready.set]: all stores before; and that the hint for this word was taken before.
    current.taken_of_others = current.others[index].exchange(0, std::memory_order_acq_rel);
    current.taken |= current.taken_of_others;
  }

  // The lowest word that has something, by way of the hints. The first words are looked at without: a thread may set
  // them that has not seen yet that there are more levels.
  [[nodiscard]] [[gnu::noinline]] bool refill_by_hints() noexcept {
    const unsigned end = depth();
    unsigned each = 1;
    bool is_new_round = false;
    for (;;) {
      while (each < end && levels_[each].taken == 0) ++each;
      if (each == end) {
        if (is_new_round) return false;
        is_new_round = true;
        begin_round(end);
        each = end - 1;
        if (levels_[each].taken == 0) return false;
      }
      if (each == 0) return true;
      level& hints = levels_[each];
      const std::uint64_t bit = hints.taken & -hints.taken;
      hints.taken ^= bit;
      --each;
      grab(levels_[each], hints.index * 64 + static_cast<std::uint32_t>(std::countr_zero(bit)),
           (hints.taken_of_others & bit) != 0);
    }
  }

  void begin_round(unsigned end) noexcept {
    for (unsigned each = 0; each + 1 < end; ++each) {
      // [ready.first] relaxed: a bit that is missed now is found in the next round.
      const std::uint64_t first = levels_[each].own[0] | levels_[each].others[0].load(std::memory_order_relaxed);
      if (first != 0) levels_[each + 1].own[0] |= 1;
    }
    grab(levels_[end - 1], 0, false);
  }

  std::array<level, levels_max> levels_;
  typename Atomics::template atomic<unsigned> depth_{1};
};

using ready_bits = basic_ready_bits<>;

}  // namespace weft::fibers
