// SPDX-License-Identifier: BSD-3-Clause
// The policy of atomics under which lock-free headers run in the explorer. See include/weft/detail/atomics.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "model/explorer.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/atomics_support.hpp"

namespace weft::model {

/// As std::atomic, for values of at most eight bytes. Outside of an exploration it is a plain value.
template <class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  using order_type = std::memory_order;
  using file_type = const char*;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  atomic() noexcept : atomic(T{}) {}
  atomic(T value) noexcept : value_(value) {
    if (hooks::exploring()) hooks::construct(this, bits(value));
  }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(order_type order, file_type file = __builtin_FILE(), unsigned line = __builtin_LINE()) const noexcept {
    if (!hooks::exploring()) return value_;
    return value(hooks::load(this, raw(), number(file, line, access::load, order, order), order));
  }

  void store(T desired, order_type order, file_type file = __builtin_FILE(),
             unsigned line = __builtin_LINE()) noexcept {
    if (hooks::exploring()) {
      hooks::store(this, raw(), bits(desired), number(file, line, access::store, order, order), order);
    }
    value_ = desired;
  }

  T exchange(T desired, order_type order, file_type file = __builtin_FILE(),
             unsigned line = __builtin_LINE()) noexcept {
    return change([](std::uint64_t, std::uint64_t operand) { return operand; }, bits(desired), order, access::exchange,
                  file, line);
  }
  T fetch_add(T operand, order_type order, file_type file = __builtin_FILE(),
              unsigned line = __builtin_LINE()) noexcept {
    return arithmetic<'+'>(operand, order, file, line);
  }
  T fetch_sub(T operand, order_type order, file_type file = __builtin_FILE(),
              unsigned line = __builtin_LINE()) noexcept {
    return arithmetic<'-'>(operand, order, file, line);
  }
  T fetch_or(T operand, order_type order, file_type file = __builtin_FILE(),
             unsigned line = __builtin_LINE()) noexcept {
    return arithmetic<'|'>(operand, order, file, line);
  }
  T fetch_and(T operand, order_type order, file_type file = __builtin_FILE(),
              unsigned line = __builtin_LINE()) noexcept {
    return arithmetic<'&'>(operand, order, file, line);
  }
  T fetch_xor(T operand, order_type order, file_type file = __builtin_FILE(),
              unsigned line = __builtin_LINE()) noexcept {
    return arithmetic<'^'>(operand, order, file, line);
  }

  bool compare_exchange_weak(T& expected, T desired, order_type order, order_type failure,
                             file_type file = __builtin_FILE(), unsigned line = __builtin_LINE()) noexcept {
    return compare(expected, desired, true, order, failure, file, line);
  }
  bool compare_exchange_strong(T& expected, T desired, order_type order, order_type failure,
                               file_type file = __builtin_FILE(), unsigned line = __builtin_LINE()) noexcept {
    return compare(expected, desired, false, order, failure, file, line);
  }
  bool compare_exchange_weak(T& expected, T desired, order_type order, file_type file = __builtin_FILE(),
                             unsigned line = __builtin_LINE()) noexcept {
    return compare(expected, desired, true, order, failure_of(order), file, line);
  }
  bool compare_exchange_strong(T& expected, T desired, order_type order, file_type file = __builtin_FILE(),
                               unsigned line = __builtin_LINE()) noexcept {
    return compare(expected, desired, false, order, failure_of(order), file, line);
  }

 private:
  static std::uint64_t bits(T from) noexcept {
    std::uint64_t out = 0;
    std::memcpy(&out, &from, sizeof(T));
    return out;
  }
  static T value(std::uint64_t from) noexcept {
    T out;
    std::memcpy(&out, &from, sizeof(T));
    return out;
  }
  // A planted bug may well make a thread follow a null pointer.
  std::uint64_t raw() const noexcept {
    constexpr std::uintptr_t null_page_bytes = 1 << 16;
    if (reinterpret_cast<std::uintptr_t>(this) < null_page_bytes) check(false, "access through a null pointer");
    return bits(value_);
  }
  static unsigned number(file_type file, unsigned line, access kind, order_type order, order_type failure) noexcept {
    return site_table::instance().number_of(file, line, kind, order, failure);
  }

  template <char Operation>
  T arithmetic(T operand, order_type order, file_type file, unsigned line) noexcept {
    return change(
        [](std::uint64_t old, std::uint64_t with) -> std::uint64_t {
          const T left = value(old);
          const T right = value(with);
          if constexpr (Operation == '+') return bits(static_cast<T>(left + right));
          if constexpr (Operation == '-') return bits(static_cast<T>(left - right));
          if constexpr (Operation == '|') return bits(static_cast<T>(left | right));
          if constexpr (Operation == '&') return bits(static_cast<T>(left & right));
          if constexpr (Operation == '^') return bits(static_cast<T>(left ^ right));
        },
        bits(operand), order, access::modify, file, line);
  }

  T change(hooks::change made, std::uint64_t operand, order_type order, access kind, file_type file,
           unsigned line) noexcept {
    const std::uint64_t old =
        hooks::exploring() ? hooks::modify(this, raw(), made, operand, number(file, line, kind, order, order), order)
                           : bits(value_);
    value_ = value(made(old, operand));
    return value(old);
  }

  bool compare(T& expected, T desired, bool weak, order_type order, order_type failure, file_type file,
               unsigned line) noexcept {
    std::uint64_t found = bits(expected);
    const bool exchanged = hooks::exploring()
                               ? hooks::compare(this, raw(), found, bits(desired), weak,
                                                number(file, line, access::compare, order, failure), order, failure)
                               : found == bits(value_);
    if (exchanged) {
      value_ = desired;
    } else {
      expected = hooks::exploring() ? value(found) : value_;
    }
    return exchanged;
  }

  T value_;
};

/// A lock whose holder the explorer may interrupt.
class mutex {
 public:
  void lock() { hooks::lock(&held_); }
  [[nodiscard]] bool try_lock() { return hooks::try_lock(&held_); }
  void unlock() { hooks::unlock(&held_); }

 private:
  std::uint64_t held_ = 0;
};

struct model_atomics {
  template <class T>
  using atomic = model::atomic<T>;
  using mutex = model::mutex;

  static void write_nonatomic(void* shared, const void* source, std::size_t bytes) noexcept {
    hooks::write_nonatomic(shared, bytes);
    std::memcpy(shared, source, bytes);
  }
  static void read_nonatomic(void* target, const void* shared, std::size_t bytes) noexcept {
    hooks::read_nonatomic(shared, bytes);
    std::memcpy(target, shared, bytes);
  }
  static void write_inline(void* shared, const void* source, std::size_t bytes) noexcept {
    write_nonatomic(shared, source, bytes);
  }
  static void read_inline(void* target, const void* shared, std::size_t bytes) noexcept {
    read_nonatomic(target, shared, bytes);
  }
  static void pause() noexcept { model::await_change(); }
};

}  // namespace weft::model

namespace weft::detail {

template <>
struct atomics_support<model::model_atomics> {
  using mutex = model::mutex;
  [[nodiscard]] static void* allocate_zeroed(std::size_t bytes) noexcept { return model::hooks::allocate(bytes); }
  static void release_zeroed(void* memory, std::size_t bytes) noexcept { model::hooks::release(memory, bytes); }
  static void must_exist(const void* object) noexcept { model::check(object != nullptr, "a null pointer is followed"); }
  static void confirm_read(const void* shared, std::size_t bytes) noexcept { model::hooks::confirm(shared, bytes); }
};

}  // namespace weft::detail
