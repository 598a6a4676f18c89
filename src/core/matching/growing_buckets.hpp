// SPDX-License-Identifier: BSD-3-Clause
// Buckets of a hash table that grows with its keys: the first nodes of chains, by hash.
//
// When there are more keys than buckets, an array of twice as many is allocated. It is empty at first: each key that is
// added then moves the chains of four buckets into it, and a large old array is released by pieces, so no call takes
// long. While no keys are added, both arrays stay. If there is no memory for a larger array, chains get longer, and all
// stays right. The first eight buckets lie in the object: fewer keys allocate nothing.
// **Threads**: one at a time.
//
// Cost: of a look, a compare and the bucket's line; chains have one key on average, or fewer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/zeroed_memory.hpp"

namespace weft::core {

template <class Node>
class growing_buckets {
 public:
  growing_buckets() noexcept = default;
  growing_buckets(const growing_buckets&) = delete;
  growing_buckets& operator=(const growing_buckets&) = delete;
  ~growing_buckets() {
    if (is_moving()) release_old(moved_);
    release(buckets_, count());
  }

  /// The bucket of keys with this hash. Valid until `fit` is called.
  [[nodiscard]] Node*& bucket_of(std::uint32_t hash) const noexcept {
    const std::uint32_t old = hash & mask_ / 2;
    if (old >= moved_) [[unlikely]]
      return old_[old];
    return buckets_[hash & mask_];
  }

  /// Whether the table with so many keys neither grows nor moves chains; then `settled_bucket_of` is `bucket_of`, and
  /// `fit` does nothing.
  [[nodiscard]] [[gnu::always_inline]] bool is_settled(std::uint32_t keys) const noexcept { return keys <= keys_max_; }
  [[nodiscard]] [[gnu::always_inline]] Node*& settled_bucket_of(std::uint32_t hash) const noexcept {
    return buckets_[hash & mask_];
  }

  /// Must be called after a key was added; `keys`: how many there are now. `relink(Node* first)` puts each key of the
  /// chain that begins with `first`, or none if it is null, into its bucket again.
  template <class Relink>
  void fit(std::uint32_t keys, const Relink& relink) noexcept {
    if (is_settled(keys)) [[likely]]
      return;
    if (!is_moving() && !begin_move(keys)) return;
    constexpr std::uint32_t step = 4;
    const std::uint32_t old_count = mask_ / 2 + 1;
    for (std::uint32_t i = 0; i < step; ++i) {
      Node* const first = old_[moved_++];
      relink(first);
      if (moved_ == old_count) return end_move();
      if (moved_ % piece_count == 0) release(old_ + moved_ - piece_count, piece_count);
    }
  }

  /// Calls `visit(Node*& first)` for each bucket.
  template <class Visit>
  void each(const Visit& visit) const {
    if (is_moving()) {
      for (std::uint32_t index = moved_; index <= mask_ / 2; ++index) visit(old_[index]);
    }
    for (std::uint32_t index = 0; index <= mask_; ++index) visit(buckets_[index]);
  }

  /// The number of buckets.
  [[nodiscard]] std::size_t count() const noexcept { return std::size_t{mask_} + 1; }

 private:
  static constexpr std::uint32_t first_count = 8;
  static constexpr std::uint32_t count_max = std::uint32_t{1} << 31;
  static constexpr std::uint32_t not_moving = ~std::uint32_t{0};
  static constexpr std::uint32_t piece_count = detail::released_piece_bytes / sizeof(Node*);

  [[nodiscard]] bool is_moving() const noexcept { return moved_ != not_moving; }

  [[gnu::noinline]] bool begin_move(std::uint32_t keys) noexcept {
    void* const memory = mask_ + 1 < count_max ? detail::allocate_zeroed(2 * count() * sizeof(Node*)) : nullptr;
    if (memory == nullptr) {
      keys_max_ = keys < count_max ? 2 * keys : ~std::uint32_t{0};  // not to ask again with each key
      return false;
    }
    old_ = buckets_;
    buckets_ = static_cast<Node**>(memory);
    mask_ = 2 * mask_ + 1;
    moved_ = 0;
    keys_max_ = 0;
    return true;
  }

  void end_move() noexcept {
    release_old(moved_ - 1);
    moved_ = not_moving;
    keys_max_ = mask_ + 1;
  }

  // The piece of the old array in which bucket `first` lies, and all behind it.
  void release_old(std::uint32_t first) noexcept {
    const std::uint32_t released = first / piece_count * piece_count;
    release(old_ + released, mask_ / 2 + 1 - released);
  }
  void release(Node** buckets, std::size_t buckets_count) noexcept {
    if (buckets != first_) detail::release_zeroed(buckets, buckets_count * sizeof(Node*));
  }

  Node** buckets_ = first_;
  Node** old_ = nullptr;  // while chains move out of it
  std::uint32_t mask_ = first_count - 1;
  std::uint32_t moved_ = not_moving;      // buckets of `old_` that have moved
  std::uint32_t keys_max_ = first_count;  // 0 while chains move
  Node* first_[first_count] = {};
};

}  // namespace weft::core
