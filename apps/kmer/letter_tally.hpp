// SPDX-License-Identifier: BSD-3-Clause
// Letters of sequences that no k-mer has, so that an input of proteins does not count as one with few k-mers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft_kmer {

namespace detail {

// IUPAC's letters for bases and for sets of bases, what tools write where bases were removed, and gaps.
constexpr std::array<bool, 256> make_nucleic_letters() {
  std::array<bool, 256> known{};
  for (const char letter : std::string_view{"ACGTURYSWKMBDHVNXacgturyswkmbdhvnx-.*"}) {
    known[static_cast<unsigned char>(letter)] = true;
  }
  return known;
}

inline constexpr auto nucleic_letters = make_nucleic_letters();

}  // namespace detail

class letter_tally {
 public:
  /// A letter that is no base.
  void skip(char letter) noexcept {
    if (detail::nucleic_letters[static_cast<unsigned char>(letter)]) return;
    if (strange_++ == 0) first_strange_ = letter;
  }

  void add(const letter_tally& other) noexcept {
    if (strange_ == 0) first_strange_ = other.first_strange_;
    strange_ += other.strange_;
  }

  /// Letters so far that no nucleic acid has, and the first of them.
  [[nodiscard]] std::uint64_t strange() const noexcept { return strange_; }
  [[nodiscard]] char first_strange() const noexcept { return first_strange_; }

 private:
  std::uint64_t strange_ = 0;
  char first_strange_ = 0;
};

}  // namespace weft_kmer
