// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/kmer_partition.hpp"

#include <map>

#include "programs/kmer_files.hpp"

namespace {

using namespace weft_kmer;

TEST(kmer_table, counts_like_a_map_while_it_grows) {
  std::mt19937_64 random{5};
  std::map<std::uint64_t, std::uint64_t> expected;
  kmer_table<narrow> table;
  kmer_table<wide> wide_table{10};
  for (int i = 0; i < 200000; ++i) {
    const narrow kmer = random() % 50000;
    ++expected[kmer];
    table.add(kmer, hash_of(kmer));
    const wide two = static_cast<wide>(kmer) << 64 | (kmer & 1);
    wide_table.add(two, hash_of(two));
  }
  ASSERT_EQ(table.size(), expected.size());
  ASSERT_EQ(wide_table.size(), expected.size());
  std::map<std::uint64_t, std::uint64_t> found;
  table.for_each([&](narrow kmer, std::uint64_t count) { found[kmer] = count; });
  EXPECT_EQ(found, expected);
  for (const auto& [kmer, count] : expected) {
    ASSERT_EQ(wide_table.count(static_cast<wide>(kmer) << 64 | (kmer & 1)), count);
  }
  EXPECT_EQ(table.count(50001), 0U);
}

TEST(kmer_table, the_kmer_of_only_a_is_a_kmer) {
  kmer_table<narrow> table;
  EXPECT_EQ(table.count(0), 0U);
  table.add(0, hash_of(narrow{0}));
  table.add(0, hash_of(narrow{0}));
  EXPECT_EQ(table.count(0), 2U);
}

TEST(bloom_filter, no_key_that_was_noted_twice_is_missed) {
  std::mt19937_64 random{3};
  twice_filter filter{1000};  // far too small
  std::vector<std::uint64_t> hashes(20000);
  for (auto& hash : hashes) hash = hash_of(narrow{random()});
  for (const auto hash : hashes) (void)filter.note(hash);
  for (const auto hash : hashes) (void)filter.note(hash);
  for (const auto hash : hashes) ASSERT_TRUE(filter.seen_again(hash));
}

TEST(bloom_filter, each_filter_lets_at_most_one_in_twenty_pass_when_it_is_full) {
  constexpr std::size_t keys = 100000;
  std::mt19937_64 random{4};
  const auto fresh = [&] { return hash_of(narrow{random()}); };
  twice_filter once{keys};
  for (std::size_t i = 0; i < keys; ++i) (void)once.note(fresh());
  std::size_t passed = 0;
  for (std::size_t i = 0; i < keys / 20; ++i) passed += once.note(fresh());
  EXPECT_LT(passed, keys / 20 * 0.055);

  twice_filter again{keys};
  for (std::size_t i = 0; i < keys / 2; ++i) {
    const auto hash = fresh();
    for (int times = 0; times < 3; ++times) (void)again.note(hash);
  }
  passed = 0;
  for (std::size_t i = 0; i < keys; ++i) passed += again.seen_again(fresh());
  EXPECT_LT(passed, keys * 0.055);
}

template <typename Word>
std::map<Word, std::uint64_t> counted(const kmer_partition<Word>& partition) {
  std::map<Word, std::uint64_t> counts;
  partition.for_each_counted([&](Word kmer, std::uint64_t count) { counts[kmer] = count; });
  return counts;
}

TEST(kmer_partition, two_passes_count_what_one_pass_counts_but_for_kmers_seen_once) {
  std::mt19937_64 random{9};
  std::vector<wide> kmers(30000);
  for (auto& kmer : kmers) kmer = static_cast<wide>(random() % 20000) << 50;
  const auto all = std::as_bytes(std::span{kmers});
  kmer_partition<wide> exact, filtered;
  exact.begin_count_all();
  exact.receive(all);
  filtered.begin_filter(100);
  for (std::size_t at = 0; at < all.size(); at += 4800) filtered.receive(all.subspan(at, 4800));
  filtered.begin_count_again();
  filtered.receive(all);
  auto expected = counted(exact);
  std::erase_if(expected, [](const auto& entry) { return entry.second == 1; });
  EXPECT_EQ(counted(filtered), expected);
  EXPECT_EQ(exact.served(), 30000U);
  EXPECT_EQ(filtered.served(), 60000U);
}

}  // namespace
