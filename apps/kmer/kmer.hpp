// SPDX-License-Identifier: BSD-3-Clause
// A k-mer as a number: two bits a base, the last base lowest, so that the order of numbers is the order of letters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft_kmer {

inline constexpr unsigned k_max = 63;

/// Holds k-mers of up to 32 bases.
using narrow = std::uint64_t;
/// Holds k-mers of up to 64 bases.
__extension__ using wide = unsigned __int128;

/// The code of a letter that is none of ACGTU, upper or lower case: no k-mer contains it.
inline constexpr std::uint8_t no_base = 4;

namespace detail {

constexpr std::array<std::uint8_t, 256> make_base_codes() {
  std::array<std::uint8_t, 256> codes{};
  for (auto& code : codes) code = no_base;
  const char* letters = "ACGTacgt";
  for (unsigned i = 0; i < 8; ++i) codes[static_cast<unsigned char>(letters[i])] = static_cast<std::uint8_t>(i % 4);
  codes['U'] = codes['T'];  // RNA
  codes['u'] = codes['t'];
  return codes;
}

inline constexpr auto base_codes = make_base_codes();

}  // namespace detail

[[nodiscard]] inline std::uint8_t code_of(char letter) noexcept {
  return detail::base_codes[static_cast<unsigned char>(letter)];
}

/// The last k bases pushed, read along both strands.
template <typename Word>
class kmer_window {
 public:
  explicit kmer_window(unsigned k) noexcept
      : k_{k}, mask_{static_cast<Word>(static_cast<Word>(~Word{0}) >> (8 * sizeof(Word) - 2 * k))} {
    for (unsigned code = 0; code < 4; ++code) complement_on_top_[code] = static_cast<Word>(3 - code) << (2 * (k - 1));
  }

  /// Forgets what it has: the next k-mer begins with the next base.
  void reset() noexcept { bases_ = 0; }

  /// Returns: true if the last k letters are all bases, that is, if there is a k-mer.
  bool push(std::uint8_t code) noexcept {
    if (code == no_base) [[unlikely]] {
      bases_ = 0;
      return false;
    }
    forward_ = ((forward_ << 2) | code) & mask_;
    backward_ = (backward_ >> 2) | complement_on_top_[code];
    return ++bases_ >= k_;
  }

  [[nodiscard]] Word forward() const noexcept { return forward_; }
  [[nodiscard]] Word canonical() const noexcept { return forward_ < backward_ ? forward_ : backward_; }

 private:
  unsigned k_;
  std::size_t bases_ = 0;
  Word mask_;
  Word forward_ = 0;
  Word backward_ = 0;
  std::array<Word, 4> complement_on_top_;
};

/// Spreads k-mers over owners (by the highest bits) and over tables and filters (by the others).
[[nodiscard]] inline std::uint64_t hash_of(narrow kmer) noexcept {
  kmer ^= kmer >> 33;
  kmer *= 0xff51afd7ed558ccdULL;
  kmer ^= kmer >> 33;
  kmer *= 0xc4ceb9fe1a85ec53ULL;
  return kmer ^ (kmer >> 33);
}

[[nodiscard]] inline std::uint64_t hash_of(wide kmer) noexcept {
  const auto low = static_cast<std::uint64_t>(kmer);
  const auto high = static_cast<std::uint64_t>(kmer >> 64);
  const wide product = static_cast<wide>(low ^ 0xa0761d6478bd642fULL) * (high ^ 0xe7037ed1a0b428dbULL);
  const auto folded = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  return (folded ^ (folded >> 32)) * 0x9e3779b97f4a7c15ULL;
}

/// Maps a hash to 0 .. count - 1, in proportion to its highest bits.
[[nodiscard]] inline std::uint64_t scale_hash(std::uint64_t hash, std::uint64_t count) noexcept {
  return static_cast<std::uint64_t>((static_cast<wide>(hash) * count) >> 64);
}

/// Writes the letters of a k-mer to `out`, which has room for k of them.
template <typename Word>
void write_letters(Word kmer, unsigned k, char* out) noexcept {
  for (unsigned i = k; i-- > 0; kmer >>= 2) out[i] = "ACGT"[static_cast<unsigned>(kmer) & 3];
}

template <typename Word>
[[nodiscard]] std::string to_letters(Word kmer, unsigned k) {
  std::string letters(k, 'A');
  write_letters(kmer, k, letters.data());
  return letters;
}

}  // namespace weft_kmer
