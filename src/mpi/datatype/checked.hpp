// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic in 64 bits that remembers an overflow, for sizes, displacements and counts of a program's choice.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::mpi {

/// A number, or none once an operation has overflowed: every result of it is none, too.
class checked {
 public:
  constexpr checked(std::int64_t value) noexcept : value_{value} {}

  [[nodiscard]] constexpr bool is_valid() const noexcept { return is_valid_; }
  /// Any number where there is none.
  [[nodiscard]] constexpr std::int64_t value() const noexcept { return value_; }

  friend constexpr checked operator+(checked a, checked b) noexcept {
    checked out{0};
    out.is_valid_ = !__builtin_add_overflow(a.value_, b.value_, &out.value_) && a.is_valid_ && b.is_valid_;
    return out;
  }
  friend constexpr checked operator-(checked a, checked b) noexcept {
    checked out{0};
    out.is_valid_ = !__builtin_sub_overflow(a.value_, b.value_, &out.value_) && a.is_valid_ && b.is_valid_;
    return out;
  }
  friend constexpr checked operator*(checked a, checked b) noexcept {
    checked out{0};
    out.is_valid_ = !__builtin_mul_overflow(a.value_, b.value_, &out.value_) && a.is_valid_ && b.is_valid_;
    return out;
  }
  friend constexpr checked smaller(checked a, checked b) noexcept {
    checked out{std::min(a.value_, b.value_)};
    out.is_valid_ = a.is_valid_ && b.is_valid_;
    return out;
  }
  friend constexpr checked larger(checked a, checked b) noexcept {
    checked out{std::max(a.value_, b.value_)};
    out.is_valid_ = a.is_valid_ && b.is_valid_;
    return out;
  }

 private:
  std::int64_t value_;
  bool is_valid_ = true;
};

}  // namespace weft::mpi
