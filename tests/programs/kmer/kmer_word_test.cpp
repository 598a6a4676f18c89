// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/kmer.hpp"

#include "programs/kmer_files.hpp"

namespace {

using namespace weft_kmer;
using namespace weft_kmer::test;

template <typename Word>
void expect_windows(unsigned k, const std::string& sequence) {
  kmer_window<Word> window{k};
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const bool whole = window.push(code_of(sequence[i]));
    const std::string kmer = i + 1 >= k ? sequence.substr(i + 1 - k, k) : "";
    ASSERT_EQ(whole, !kmer.empty() && kmer.find('N') == std::string::npos) << "k = " << k << " at " << i;
    if (!whole) continue;
    ASSERT_EQ(to_letters(window.forward(), k), kmer);
    ASSERT_EQ(to_letters(window.canonical(), k), std::min(kmer, reverse_complement(kmer)));
  }
}

TEST(kmer_word, windows_are_the_kmers_of_both_strands_for_every_k) {
  std::mt19937_64 random{11};
  const std::string sequence = random_letters(random, 500, "ACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTN");
  for (unsigned k = 1; k <= 32; ++k) expect_windows<narrow>(k, sequence + random_letters(random, 100));
  for (unsigned k = 1; k <= k_max; ++k) expect_windows<wide>(k, sequence + random_letters(random, 100));
}

TEST(kmer_word, letters_are_bases_in_either_case_and_nothing_else_is) {
  for (unsigned c = 0; c < 256; ++c) {
    const auto letter = static_cast<char>(c);
    const bool base = c != 0 && std::string_view{"ACGTUacgtu"}.find(letter) != std::string_view::npos;
    EXPECT_EQ(code_of(letter) != no_base, base) << c;
  }
}

TEST(kmer_word, uracil_is_counted_as_thymine) {
  for (const char letter : {'U', 'u', 't'}) EXPECT_EQ(code_of(letter), code_of('T'));
}

TEST(kmer_word, a_reset_window_starts_anew) {
  kmer_window<narrow> window{3};
  for (const char letter : {'A', 'C'}) EXPECT_FALSE(window.push(code_of(letter)));
  window.reset();
  for (const char letter : {'G', 'G'}) EXPECT_FALSE(window.push(code_of(letter)));
  EXPECT_TRUE(window.push(code_of('A')));
  EXPECT_EQ(to_letters(window.forward(), 3), "GGA");
}

// K-mers that differ in few bits, as those of real sequences do, go evenly to owners and within an owner's table.
template <typename Word>
void expect_even_hashes(unsigned shift) {
  constexpr unsigned owners = 7, slots = 64, kmers = 64 * 7 * 500;
  std::vector<unsigned> found(owners * slots);
  for (unsigned i = 0; i < kmers; ++i) {
    const std::uint64_t hash = hash_of(static_cast<Word>(i) << shift);
    ++found[scale_hash(hash, owners) * slots + hash % slots];
  }
  EXPECT_GT(*std::min_element(found.begin(), found.end()), 350U);
  EXPECT_LT(*std::max_element(found.begin(), found.end()), 650U);
}

TEST(kmer_word, similar_kmers_are_spread_evenly) {
  for (const unsigned shift : {0U, 7U, 30U, 44U}) expect_even_hashes<narrow>(shift);
  for (const unsigned shift : {0U, 30U, 60U, 64U, 90U, 108U}) expect_even_hashes<wide>(shift);
}

}  // namespace
