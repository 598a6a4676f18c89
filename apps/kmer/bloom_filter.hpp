// SPDX-License-Identifier: BSD-3-Clause
// Two blocked Bloom filters, "seen once" and "seen again", whose bits for one key lie in one cache line: to note a key
// costs one miss. One thread alone does so: were two to set the bits of one key at a time, each could find that the
// other was first, and a key that was seen twice would never be "seen again".
#pragma once

#include <cstddef>
#include <cstdint>

#include "kmer/big_array.hpp"
#include "kmer/kmer.hpp"

namespace weft_kmer {

class twice_filter {
 public:
  /// Sized for `expected` keys, half of them seen again, at a share of false positives of 0.05 each (yan2025-lci, 6.3).
  explicit twice_filter(std::size_t expected = 0) : lines_(expected / keys_per_line + 1) {}

  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&lines_[line_of(hash)], 1); }

  /// Returns: true if the key became "seen again" by this: for every key that is noted twice, at some time, and for
  /// about one in twenty of the others.
  bool note(std::uint64_t hash) noexcept {
    line& l = lines_[line_of(hash)];
    const std::uint64_t bits = bits_of(hash);
    return !set<once_bits>(l.once, bits) && set<again_bits>(l.again, bits);
  }

  /// Never false for a key that was noted twice, and true for few of the others.
  [[nodiscard]] bool seen_again(std::uint64_t hash) const noexcept {
    const line& l = lines_[line_of(hash)];
    std::uint64_t missing = 0;
    for_each_bit<again_bits>(bits_of(hash), [&](unsigned word, std::uint64_t bit) { missing |= ~l.again[word] & bit; });
    return missing == 0;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return lines_.size() * sizeof(line); }

 private:
  static constexpr unsigned bits_per_key = 5;
  static constexpr unsigned once_bits = 5 * 64;
  static constexpr unsigned again_bits = 3 * 64;
  // In theory 51 for 0.05; but some lines get more keys than others.
  static constexpr std::size_t keys_per_line = 47;

  struct alignas(64) line {
    std::uint64_t once[once_bits / 64];
    std::uint64_t again[again_bits / 64];
  };
  static_assert(sizeof(line) == 64);

  // The owner of a key was chosen by the highest bits of the hash, so line and bits come from multiplications first.
  [[nodiscard]] std::size_t line_of(std::uint64_t hash) const noexcept {
    return scale_hash(hash * 0xd6e8feb86659fd93ULL, lines_.size());
  }
  [[nodiscard]] static std::uint64_t bits_of(std::uint64_t hash) noexcept {
    const std::uint64_t mixed = (hash ^ (hash >> 32)) * 0xa0761d6478bd642fULL;
    return mixed ^ (mixed >> 29);
  }

  template <unsigned Bits, typename Use>
  static void for_each_bit(std::uint64_t bits, Use&& use) noexcept {
    for (unsigned i = 0; i < bits_per_key; ++i, bits >>= 12) {
      const auto bit = static_cast<unsigned>((bits & 0xfff) * Bits >> 12);
      use(bit / 64, std::uint64_t{1} << (bit % 64));
    }
  }

  // Returns: whether one of the key's bits was missing.
  template <unsigned Bits>
  static bool set(std::uint64_t* words, std::uint64_t bits) noexcept {
    std::uint64_t missing = 0;
    for_each_bit<Bits>(bits, [&](unsigned word, std::uint64_t bit) {
      missing |= ~words[word] & bit;
      words[word] |= bit;
    });
    return missing != 0;
  }

  big_array<line> lines_;
};

}  // namespace weft_kmer
