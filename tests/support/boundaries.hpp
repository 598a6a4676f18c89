// SPDX-License-Identifier: BSD-3-Clause
// Numbers at which sums, roundings and conversions go wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::test {

/// 0 to 2, and all around the powers of two that sizes are bounded by: widths of types, of addresses, the library's
/// own bound (2^62), and 2^64, which is 0. Around: by 1, by a word, by the alignment of memory.
[[nodiscard]] constexpr auto make_boundary_words() noexcept {
  constexpr unsigned bits[] = {31, 32, 47, 48, 62, 63, 64};
  constexpr std::uint64_t offsets[] = {0, 1, 7, 8, 63, 64, 65};
  std::array<std::uint64_t, 3 + 7 * 13> out{0, 1, 2};
  std::size_t count = 3;
  for (const unsigned each : bits) {
    const std::uint64_t power = each == 64 ? 0 : std::uint64_t{1} << each;
    for (const std::uint64_t offset : offsets) {
      out[count++] = power - offset;
      if (offset != 0) out[count++] = power + offset;
    }
  }
  return out;
}

inline constexpr auto boundary_words = make_boundary_words();

}  // namespace weft::test
