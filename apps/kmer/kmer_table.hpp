// SPDX-License-Identifier: BSD-3-Clause
// Counts by k-mer: open addressing with linear probing, for one thread alone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kmer/big_array.hpp"
#include "kmer/kmer.hpp"

namespace weft_kmer {

template <typename Word>
class kmer_table {
 public:
  /// Has room for `expected` k-mers before it grows.
  explicit kmer_table(std::size_t expected = 0) {
    resize(std::bit_ceil(std::max<std::size_t>(expected * 4 / 3, 1024)));
  }

  /// Fetches the place where a k-mer of this hash belongs; worth it some k-mers ahead of `add`.
  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&entries_[hash & mask_], 1); }

  /// Counts one occurrence. Errors: std::bad_alloc where it has to grow and can't; it is unchanged then.
  void add(Word kmer, std::uint64_t hash) {
    entry* found = find(kmer, hash);
    if (found->count == 0) [[unlikely]] {
      if (size_ >= size_max_) {
        grow();
        found = find(kmer, hash);
      }
      std::memcpy(found->kmer, &kmer, sizeof kmer);
      ++size_;
    }
    ++found->count;
  }

  /// How often `kmer` was added.
  [[nodiscard]] std::uint64_t count(Word kmer) const noexcept {
    return const_cast<kmer_table*>(this)->find(kmer, hash_of(kmer))->count;
  }

  /// Different k-mers.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Calls `use(kmer, count)` for each k-mer, in no order that means anything.
  template <typename Use>
  void for_each(Use&& use) const {
    for (const entry& e : entries_) {
      if (e.count != 0) use(kmer_of(e), e.count);
    }
  }

 private:
  struct entry {
    std::uint64_t kmer[sizeof(Word) / 8];
    std::uint64_t count;  // 0: nothing here
  };

  [[nodiscard]] static Word kmer_of(const entry& e) noexcept {
    Word kmer;
    std::memcpy(&kmer, e.kmer, sizeof kmer);
    return kmer;
  }

  // The entry of `kmer`, or the empty one where it would go. There always is one.
  [[nodiscard]] entry* find(Word kmer, std::uint64_t hash) noexcept {
    std::size_t at = hash & mask_;
    while (entries_[at].count != 0 && kmer_of(entries_[at]) != kmer) at = (at + 1) & mask_;
    return &entries_[at];
  }

  void resize(std::size_t capacity) {
    entries_ = big_array<entry>(capacity);
    mask_ = capacity - 1;
    size_max_ = capacity / 4 * 3;
  }

  void grow() {
    // The new memory comes first: where there is none, the table stays as it is.
    big_array<entry> old(entries_.size() * 2);
    std::swap(old, entries_);
    mask_ = entries_.size() - 1;
    size_max_ = entries_.size() / 4 * 3;
    constexpr std::size_t ahead = 16;
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (i + ahead < old.size() && old[i + ahead].count != 0) prefetch(hash_of(kmer_of(old[i + ahead])));
      if (old[i].count != 0) *find(kmer_of(old[i]), hash_of(kmer_of(old[i]))) = old[i];
    }
  }

  big_array<entry> entries_;
  std::uint64_t mask_ = 0;
  std::size_t size_ = 0;
  std::size_t size_max_ = 0;
};

}  // namespace weft_kmer
