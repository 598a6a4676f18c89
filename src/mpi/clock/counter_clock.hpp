// SPDX-License-Identifier: BSD-3-Clause
// A clock that reads the processor's counter, and now and then the kernel's clock beside it. It begins with the
// kernel's clock until it knows the counter's rate, and goes back to it for ever where the kernel no longer counts by
// this counter.
//
// Cost: one read of the counter, which waits for the loads before it once a second thread has asked for the time; and
// loads from two lines that change a hundred times a second. The thread that finds that a line has ended makes the next
// one; no thread waits for it, as any other does the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "mpi/clock/published_record.hpp"
#include "mpi/clock/timeline.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::mpi {

/// `Source` has the counter and the kernel's clock: `ticks`; `ticks_in_order`, which reads the counter behind all loads
/// that stand before it; `nanoseconds`; and `is_trusted`, whether the kernel's clock counts by this counter. The real
/// one is `processor_counter`.
/// **Threads**: any. **Blocking**: never. Progress: lock-free. Times never go backwards: also not for a thread that has
/// synchronized with another one that has read the time.
template <class Source, class Atomics = detail::std_atomics>
class basic_counter_clock {
 public:
  constexpr basic_counter_clock() noexcept = default;
  explicit basic_counter_clock(const Source& source) noexcept : source_{source} {}

  /// The time, in sixteenths of a nanosecond (`parts_of_ns`).
  [[nodiscard]] std::int64_t now() noexcept {
    // [clock.user] relaxed <- [clock.join]: a thread that has seen another one's time sees that it is not alone.
    const user users = user_.load(std::memory_order_relaxed);
    std::uint64_t ticks = 0;
    if (users == this_thread()) {
      ticks = source_.ticks();
    } else if (users == several) {
      ticks = source_.ticks_in_order();
    } else {
      return now_slowly();
    }
    // Only one line holds for `ticks`, so it may be found later.
    const auto seen = record_.current();
    record_words<line_words> read;
    const bool is_current = record_.try_read(seen, read);
    const clock_line line = line_of(read);
    const std::uint64_t elapsed = ticks - line.begin;
    if (!is_current || record::is_closed(seen) || elapsed >= line.length) [[unlikely]]
      return now_slowly();
    return line.time_after(elapsed);
  }

  /// Parts of a nanosecond in a tick, times 2^32; it stays as it is once it was asked for. 0: time is the kernel's.
  /// Makes the first line, for which a millisecond may have to pass.
  [[nodiscard]] std::uint64_t rate() noexcept {
    for (std::int64_t begin = now();;) {
      const auto seen = record_.current();
      record_words<state_words> read;
      if (!record_.try_read(seen, read)) continue;
      if (record::is_closed(seen)) return 0;
      if (const clock_state state = state_of(read); state.kernel_rate != 0) return first_rate(state.kernel_rate);
      if (now() - begin > timeline::span) return 0;
    }
  }

 private:
  // The threads that ask for the time: none yet, one by its address, several; or the kernel is asked.
  using user = std::uintptr_t;
  static constexpr user none = 0, several = 1, kernel = 2;
  static constexpr std::size_t line_words = 4, state_words = 8, slot_count = 16;
  static constexpr unsigned tries = 3;             // a reading's
  static constexpr unsigned slotless_max = 10000;  // looks for a free slot: then they are lost
  using record = basic_published_record<state_words, slot_count, Atomics>;
  template <std::size_t count>
  using record_words = typename record::template words<count>;

  template <std::size_t count>
  [[nodiscard]] static clock_line line_of(const record_words<count>& from) noexcept {
    return {.begin = from[0], .length = from[1], .time = static_cast<std::int64_t>(from[2]), .rate = from[3]};
  }
  [[nodiscard]] static clock_state state_of(const record_words<state_words>& from) noexcept {
    return {.line = line_of(from),
            .last = {.ticks = from[4], .spread = from[5], .time = static_cast<std::int64_t>(from[6])},
            .kernel_rate = from[7]};
  }
  [[nodiscard]] static record_words<state_words> words_of(const clock_state& state) noexcept {
    return {state.line.begin, state.line.length, static_cast<std::uint64_t>(state.line.time), state.line.rate,
            state.last.ticks, state.last.spread, static_cast<std::uint64_t>(state.last.time), state.kernel_rate};
  }

  // A number of the thread.
  [[nodiscard]] static user this_thread() noexcept {
    [[gnu::tls_model("initial-exec")]] static thread_local const char byte = 0;  // of the thread
    return reinterpret_cast<user>(&byte);
  }

  // Until a second thread asks for the time, the reads of the first one need not wait for its loads.
  void join() noexcept {
    user seen = none;
    // [clock.join] relaxed -> [clock.user]: a thread that sees a time of this thread's has synchronized with it.
    if (user_.compare_exchange_strong(seen, this_thread(), std::memory_order_relaxed, std::memory_order_relaxed))
      return;
    while (seen != this_thread() && seen != several && seen != kernel &&
           // [clock.join] relaxed -> [clock.user]: the first thread waits for its loads from then on.
           !user_.compare_exchange_weak(seen, several, std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
  }

  [[gnu::noinline]] std::int64_t now_slowly() noexcept {
    join();
    for (unsigned slotless = 0;;) {
      const auto seen = record_.current();
      record_words<state_words> read;
      if (!record_.try_read(seen, read)) continue;
      const clock_state state = state_of(read);
      // Not before the end of the last line, up to which threads may have read the time.
      if (record::is_closed(seen)) return std::max(kernel_time(), state.line.end_time());
      if (seen == record::first && !source_.is_trusted()) {
        close(seen);
        continue;
      }
      // The line's begin was read before.
      const std::uint64_t ticks = source_.ticks_in_order();
      if (ticks - state.line.begin < state.line.length) return state.line.time_after(ticks - state.line.begin);
      const clock_reading now = read_both();
      const std::optional<clock_state> next = state_after(seen, state, ticks, now);
      if (!next && state.kernel_rate != 0) {
        close(seen);
      } else if (!next) {
        if (record_.current() == seen) return now.time;
      } else if (record_.try_replace(seen, words_of(*next)) == replacement::no_slot && ++slotless == slotless_max) {
        close(seen);
      }
    }
  }

  [[nodiscard]] static std::optional<clock_state> state_after(typename record::version seen, const clock_state& state,
                                                              std::uint64_t ticks, const clock_reading& now) noexcept {
    if (seen == record::first) return clock_state{.line = {}, .last = now};
    if (state.kernel_rate == 0) return timeline::first_state(state.last, now);
    if (ticks < state.line.begin) return std::nullopt;
    return timeline::next_state(state, now);
  }

  // The narrowest of a few: an interruption makes one wide.
  [[nodiscard]] clock_reading read_both() noexcept {
    clock_reading narrowest{.spread = ~std::uint64_t{0}};
    for (unsigned each = 0; each < tries; ++each) {
      const std::uint64_t before = source_.ticks_in_order();
      const std::int64_t time = kernel_time();
      const std::uint64_t spread = (source_.ticks_in_order() - before + 1) / 2;
      if (spread < narrowest.spread) narrowest = {.ticks = before + spread, .spread = spread, .time = time};
    }
    return narrowest;
  }

  [[nodiscard]] std::int64_t kernel_time() noexcept { return source_.nanoseconds() * parts_of_ns; }

  void close(typename record::version seen) noexcept {
    record_.close(seen);
    if (record::is_closed(record_.current())) {
      user_.store(kernel, std::memory_order_relaxed);  // [hint] spares a read of the counter
    }
  }

  [[nodiscard]] std::uint64_t first_rate(std::uint64_t kernel_rate) noexcept {
    std::uint64_t known = 0;
    // relaxed: the number is all that is published.
    rate_.compare_exchange_strong(known, kernel_rate, std::memory_order_relaxed, std::memory_order_relaxed);
    return known != 0 ? known : kernel_rate;
  }

  record record_;
  typename Atomics::template atomic<user> user_{none};
  typename Atomics::template atomic<std::uint64_t> rate_{0};
  [[no_unique_address]] Source source_{};
};

}  // namespace weft::mpi
