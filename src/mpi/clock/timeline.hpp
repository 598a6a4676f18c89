// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of a clock that is made of a counter: lines from counts to times, one behind the other.
//
// A line holds for a number of ticks. Where it ends, the next one begins with the time of this end, and has a rate by
// which the clock is right again at its own end. If no thread has asked for the time in between, it begins later, at
// the kernel's time. So a count has one time at all threads, and time neither jumps nor goes backwards.
//
// A reading of the kernel's clock is right up to its radius, as the thread may be interrupted in its middle. The rate
// and the time change only as far as the readings demand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace weft::mpi {

/// Times are in sixteenths of a nanosecond: finer than the counters of processors.
inline constexpr std::int64_t parts_of_ns = 16;

/// The kernel's clock and the counter at one moment.
struct clock_reading {
  std::uint64_t ticks = 0;
  std::uint64_t spread = 0;  // the ticks by which the moment may be earlier or later
  std::int64_t time = 0;     // whole nanoseconds
};

/// The part of a clock's state that its readers need.
struct clock_line {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;  // the ticks for which it holds
  std::int64_t time = 0;     // that of its begin
  std::uint64_t rate = 0;    // parts of a nanosecond in a tick, times 2^32

  /// `ticks` behind the begin, up to the length: so the product is below 2^62.
  [[nodiscard]] std::int64_t time_after(std::uint64_t ticks) const noexcept {
    return time + static_cast<std::int64_t>((ticks * rate) >> 32);
  }
  [[nodiscard]] std::uint64_t end() const noexcept { return begin + length; }
  [[nodiscard]] std::int64_t end_time() const noexcept { return time_after(length); }
};

/// A line, and the last reading, from which the next line is found.
struct clock_state {
  clock_line line;
  clock_reading last;
  std::uint64_t kernel_rate = 0;  // the kernel's, as known by now; 0: there is no line yet
};

namespace timeline {

__extension__ using wide = __int128;

/// How long the kernel's clock is watched before the first line.
inline constexpr std::int64_t first_measured = 1'000'000 * parts_of_ns;
/// Until the kernel's clock is read again.
inline constexpr std::int64_t span = 10'000'000 * parts_of_ns;
/// A clock that is early or late runs slower or faster by at most one part of so many.
inline constexpr std::uint64_t slew_divisor = 1024;
/// A kernel whose rate changes by more than one part of so many no longer counts by this counter.
inline constexpr std::uint64_t trust_divisor = 512;
/// Two readings make the first line if they know the rate up to one part of so many.
inline constexpr std::uint64_t first_error_divisor = 4096;

[[nodiscard]] inline std::int64_t time_of(std::uint64_t ticks, std::uint64_t rate) noexcept {
  return static_cast<std::int64_t>((static_cast<wide>(ticks) * rate) >> 32);
}
[[nodiscard]] inline std::uint64_t ticks_of(std::int64_t time, std::uint64_t rate) noexcept {
  return static_cast<std::uint64_t>((static_cast<wide>(time) << 32) / rate);
}
[[nodiscard]] inline std::int64_t rate_of(std::int64_t time, std::uint64_t ticks) noexcept {
  return static_cast<std::int64_t>((static_cast<wide>(time) * (wide{1} << 32)) / ticks);
}

/// A deviation less the part of it that the error of the readings explains.
[[nodiscard]] inline std::int64_t beyond(std::int64_t deviation, std::int64_t error) noexcept {
  return deviation > error ? deviation - error : deviation < -error ? deviation + error : 0;
}

/// The first line. It lies at or above the kernel's clock, which threads have read before. **Returns**: nothing
/// where more time has to pass.
[[nodiscard]] inline std::optional<clock_state> first_state(const clock_reading& before,
                                                            const clock_reading& now) noexcept {
  const std::uint64_t ticks = now.ticks - before.ticks;
  const std::int64_t time = now.time - before.time;
  const std::uint64_t spread = now.spread + before.spread;
  if (time < first_measured || ticks <= spread) return std::nullopt;
  const std::int64_t rate = rate_of(time, ticks);
  const std::int64_t fastest = rate_of(time + parts_of_ns, ticks - spread) + 1;
  if (fastest - rate > rate / static_cast<std::int64_t>(first_error_divisor)) return std::nullopt;
  const auto kernel_rate = static_cast<std::uint64_t>(rate);
  return clock_state{.line = {.begin = now.ticks - now.spread,
                              .length = ticks_of(span, kernel_rate),
                              .time = now.time + parts_of_ns,
                              .rate = static_cast<std::uint64_t>(fastest)},
                     .last = now,
                     .kernel_rate = kernel_rate};
}

/// The kernel's rate after a reading, or nothing where it has changed too much.
[[nodiscard]] inline std::optional<std::uint64_t> next_rate(const clock_state& state,
                                                            const clock_reading& now) noexcept {
  const std::uint64_t ticks = now.ticks - state.last.ticks;
  const std::int64_t error = time_of(now.spread + state.last.spread, state.kernel_rate) + parts_of_ns;
  const std::int64_t expected = state.last.time + time_of(ticks, state.kernel_rate);
  const std::int64_t change = rate_of(beyond(now.time - expected, error), ticks);
  if (static_cast<std::uint64_t>(std::abs(change)) > state.kernel_rate / trust_divisor) return std::nullopt;
  return state.kernel_rate + static_cast<std::uint64_t>(change);
}

/// The line behind the state's, which has ended before `now`. **Returns**: nothing where the kernel's clock and the
/// counter don't belong together any more.
[[nodiscard]] inline std::optional<clock_state> next_state(const clock_state& state,
                                                           const clock_reading& now) noexcept {
  const std::uint64_t end = state.line.end();
  if (now.ticks < end || now.ticks <= state.last.ticks) return std::nullopt;
  const std::optional<std::uint64_t> rate = next_rate(state, now);
  if (!rate) return std::nullopt;
  const std::uint64_t late = now.ticks - end;
  const std::uint64_t span_ticks = ticks_of(span, *rate);
  const std::int64_t expected = state.line.end_time() + time_of(late, *rate);
  const std::int64_t error = time_of(now.spread, *rate) + parts_of_ns;
  const std::int64_t behind = beyond(now.time - expected, error);
  clock_state next{.line = {}, .last = now, .kernel_rate = *rate};
  if (late >= span_ticks) {
    // No thread has read the time since the line has ended, so the clock may be set.
    if (expected + behind < state.line.end_time()) return std::nullopt;
    next.line = {.begin = now.ticks, .length = span_ticks, .time = expected + behind, .rate = *rate};
    return next;
  }
  if (std::abs(behind) > span / 16) return std::nullopt;
  const std::uint64_t length = late + span_ticks;
  const std::int64_t wanted = static_cast<std::int64_t>(*rate) + rate_of(behind, length);
  const auto slew = static_cast<std::int64_t>(*rate / slew_divisor);
  const std::int64_t slowest = static_cast<std::int64_t>(*rate) - slew;
  const std::int64_t fastest = static_cast<std::int64_t>(*rate) + slew;
  next.line = {.begin = end,
               .length = length,
               .time = state.line.end_time(),
               .rate = static_cast<std::uint64_t>(std::clamp(wanted, slowest, fastest))};
  return next;
}

}  // namespace timeline
}  // namespace weft::mpi
