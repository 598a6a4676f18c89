// SPDX-License-Identifier: BSD-3-Clause
// Numbers of Fortran's fixed sizes that C++ has no type for: reals of 2 and 16 bytes, integers of 16, complex numbers
// of them. They have the operators that reductions need.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::mpi {

__extension__ using int128 = __int128;
__extension__ using quad = __float128;

/// IEEE 754 binary16: computed as float, rounded to nearest even.
class half {
 public:
  half() = default;
  explicit half(float value) noexcept : bits_{bits_of(value)} {}
  [[nodiscard]] explicit operator float() const noexcept {
    const std::uint32_t sign = (bits_ & 0x8000U) << 16, exponent = bits_ >> 10 & 0x1fU, fraction = bits_ & 0x3ffU;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f80'0000U | fraction << 13);
    if (exponent == 0) {  // fraction * 2^-24
      const float small = static_cast<float>(fraction) * 0x1p-24F;
      return sign != 0 ? -small : small;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  }
  friend half operator+(half a, half b) noexcept { return half{static_cast<float>(a) + static_cast<float>(b)}; }
  friend half operator-(half a, half b) noexcept { return half{static_cast<float>(a) - static_cast<float>(b)}; }
  friend half operator*(half a, half b) noexcept { return half{static_cast<float>(a) * static_cast<float>(b)}; }
  friend bool operator<(half a, half b) noexcept { return static_cast<float>(a) < static_cast<float>(b); }

 private:
  [[nodiscard]] static std::uint16_t bits_of(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7fff'ffffU;
    if (magnitude > 0x7f80'0000U) return static_cast<std::uint16_t>(sign | 0x7e00U);   // not a number
    if (magnitude >= 0x477f'f000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds to infinity
    if (magnitude < 0x3880'0000U) {                                                    // below 2^-14
      // 0.5 has an exponent with which the last bit of its fraction is 2^-24: the addition rounds.
      const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) - 0x3f00'0000U));
    }
    const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
    return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
  }

  std::uint16_t bits_;
};

/// A complex number of two of these.
template <class Part>
struct complex_of {
  Part real;
  Part imaginary;
  friend complex_of operator+(complex_of a, complex_of b) noexcept {
    return {a.real + b.real, a.imaginary + b.imaginary};
  }
  friend complex_of operator*(complex_of a, complex_of b) noexcept {
    return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
  }
};

/// The data of a value with an index, as MPI packs them, without the gaps of a C struct. An index of Fortran's is a
/// number as the value.
template <class Value, class Index = int>
struct [[gnu::packed]] packed_pair {
  Value value;
  Index index;
};
/// MPI_MINLOC and MPI_MAXLOC: of equal values the one with the lower index.
struct smaller_of_pairs {
  template <class Pair>
  [[nodiscard]] Pair operator()(const Pair& a, const Pair& b) const noexcept {
    const bool takes_a = (a.value < b.value) | (!(b.value < a.value) & (a.index < b.index));
    return takes_a ? a : b;
  }
};
struct larger_of_pairs {
  template <class Pair>
  [[nodiscard]] Pair operator()(const Pair& a, const Pair& b) const noexcept {
    const bool takes_a = (b.value < a.value) | (!(a.value < b.value) & (a.index < b.index));
    return takes_a ? a : b;
  }
};

}  // namespace weft::mpi
