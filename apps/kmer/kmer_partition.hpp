// SPDX-License-Identifier: BSD-3-Clause
// The k-mers that one thread owns: a filter and a table that no other thread touches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "kmer/bloom_filter.hpp"
#include "kmer/kmer.hpp"
#include "kmer/kmer_table.hpp"

namespace weft_kmer {

template <typename Word>
class kmer_partition {
 public:
  /// The use of arriving k-mers.
  enum class step : std::uint8_t {
    count_all,    ///< into the table
    filter,       ///< into the filters: seen once, seen again
    count_again,  ///< into the table if the second filter has them
  };

  /// From now on all k-mers are counted.
  void begin_count_all() { begin(step::count_all, 0); }

  /// First pass: `expected` k-mers will come.
  void begin_filter(std::size_t expected) {
    filter_.emplace(expected);
    step_ = step::filter;
  }

  /// Second pass: all k-mers arrive again, and those in the second filter are counted.
  void begin_count_again() { begin(step::count_again, repeated_); }

  /// Takes the k-mers of a message. Errors: std::bad_alloc.
  void receive(std::span<const std::byte> message) {
    served_ += message.size() / sizeof(Word);
    switch (step_) {
      case step::count_all: return count(message);
      case step::filter:
        return for_each(
            message, [this](std::uint64_t hash) { filter_->prefetch(hash); },
            [this](Word, std::uint64_t hash) { repeated_ += filter_->note(hash); });
      case step::count_again:
        // One after the other: two misses at a time for each k-mer are more than twice as slow as one.
        passed_.clear();
        for_each(
            message, [this](std::uint64_t hash) { filter_->prefetch(hash); },
            [this](Word kmer, std::uint64_t hash) {
              if (filter_->seen_again(hash)) passed_.push_back(kmer);
            });
        return count(std::as_bytes(std::span{passed_}));
    }
  }

  /// K-mers received, in all passes.
  [[nodiscard]] std::uint64_t served() const noexcept { return served_; }

  /// Calls `use(kmer, count)` for each k-mer that was counted: all, or those seen at least twice (and then only those,
  /// as filters let some pass that were not).
  template <typename Use>
  void for_each_counted(Use&& use) const {
    const std::uint64_t least = step_ == step::count_all ? 1 : 2;
    table_->for_each([&](Word kmer, std::uint64_t count) {
      if (count >= least) use(kmer, count);
    });
  }

 private:
  void begin(step next, std::size_t expected) {
    table_.emplace(expected);
    step_ = next;
  }

  void count(std::span<const std::byte> kmers) {
    for_each(
        kmers, [this](std::uint64_t hash) { table_->prefetch(hash); },
        [this](Word kmer, std::uint64_t hash) { table_->add(kmer, hash); });
  }

  // Prefetches some k-mers ahead, so that their cache misses overlap.
  template <typename Prefetch, typename Use>
  static void for_each(std::span<const std::byte> message, Prefetch&& prefetch, Use&& use) {
    constexpr std::size_t ahead = 16;  // a power of two
    const std::size_t count = message.size() / sizeof(Word);
    std::array<std::uint64_t, ahead> hashes;
    const auto load = [&](std::size_t i) {
      Word kmer;
      std::memcpy(&kmer, message.data() + i * sizeof kmer, sizeof kmer);
      return kmer;
    };
    const auto look_ahead = [&](std::size_t i) {
      if (i >= count) return;
      hashes[i % ahead] = hash_of(load(i));
      prefetch(hashes[i % ahead]);
    };
    for (std::size_t i = 0; i < ahead; ++i) look_ahead(i);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hash = hashes[i % ahead];
      look_ahead(i + ahead);
      use(load(i), hash);
    }
  }

  std::optional<twice_filter> filter_;
  std::optional<kmer_table<Word>> table_;
  std::vector<Word> passed_;  // the second filter has these, of the present message
  step step_ = step::count_all;
  std::uint64_t repeated_ = 0;  // new in the second filter: about how many the table will hold
  std::uint64_t served_ = 0;
};

}  // namespace weft_kmer
