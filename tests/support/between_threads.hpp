// SPDX-License-Identifier: BSD-3-Clause
// Messages between threads of a test: a flag, a tally, and a value. A thread that reads one sees the earlier writes of
// the threads that changed it. Tests that try an order, or that want none, use std::atomic themselves.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::test {

class flag {
 public:
  void raise() noexcept {
    // [test_flag.raise] release -> [test_flag.is_raised], [test_flag.try_raise], [test_flag.try_lower]: all that the
    // thread did before.
    is_raised_.store(true, std::memory_order_release);
  }

  [[nodiscard]] bool is_raised() const noexcept {
    // [test_flag.is_raised] acquire <- [test_flag.raise], [test_flag.try_raise], [test_flag.try_lower]: the writes
    // before the flag was changed.
    return is_raised_.load(std::memory_order_acquire);
  }

  /// False if it was raised already.
  [[nodiscard]] bool try_raise() noexcept {
    // [test_flag.try_raise] acq_rel <-> [test_flag.raise], [test_flag.is_raised], [test_flag.try_lower]: as both.
    return !is_raised_.exchange(true, std::memory_order_acq_rel);
  }

  /// False if it was not raised.
  [[nodiscard]] bool try_lower() noexcept {
    // [test_flag.try_lower] acq_rel <-> [test_flag.raise], [test_flag.is_raised], [test_flag.try_raise]: as both.
    return is_raised_.exchange(false, std::memory_order_acq_rel);
  }

 private:
  std::atomic<bool> is_raised_{false};
};

template <class Number = std::uint64_t>
class tally {
 public:
  tally() noexcept = default;
  explicit tally(Number first) noexcept : value_{first} {}

  /// Returns the value before, as does `subtract`.
  Number add(Number number = 1) noexcept {
    // [test_tally.add] acq_rel <-> [test_tally.add], [test_tally.subtract], [test_tally.value]: the earlier writes
    // of the threads that changed it.
    return value_.fetch_add(number, std::memory_order_acq_rel);
  }

  Number subtract(Number number = 1) noexcept {
    // [test_tally.subtract] acq_rel <-> [test_tally.add], [test_tally.subtract], [test_tally.value]: as for `add`.
    return value_.fetch_sub(number, std::memory_order_acq_rel);
  }

  [[nodiscard]] Number value() const noexcept {
    // [test_tally.value] acquire <- [test_tally.add], [test_tally.subtract]: the earlier writes of the threads that
    // changed it.
    return value_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<Number> value_{0};
};

/// A value that one thread at a time replaces.
template <class Value>
class published {
 public:
  published() noexcept = default;
  explicit published(Value first) noexcept : value_{first} {}

  void publish(Value value) noexcept {
    // [test_published.publish] release -> [test_published.value], [test_published.take]: all that the thread did
    // before.
    value_.store(value, std::memory_order_release);
  }

  [[nodiscard]] Value value() const noexcept {
    // [test_published.value] acquire <- [test_published.publish], [test_published.take]: the writes before this value
    // was there.
    return value_.load(std::memory_order_acquire);
  }

  /// Returns the value, and leaves an empty one.
  [[nodiscard]] Value take() noexcept {
    // [test_published.take] acq_rel <-> [test_published.publish], [test_published.value], [test_published.take]: as
    // both.
    return value_.exchange(Value{}, std::memory_order_acq_rel);
  }

 private:
  std::atomic<Value> value_{Value{}};
};

}  // namespace weft::test
