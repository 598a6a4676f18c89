// SPDX-License-Identifier: BSD-3-Clause
// First-in-first-out queues, one for each key that has waiting nodes: a hash table from keys to the oldest node of
// each, with the younger ones chained behind it. Intrusive. **Threads**: one at a time.
//
// Cost: constant. The table grows with the number of keys (growing_buckets.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/assertion.hpp"
#include "core/matching/growing_buckets.hpp"
#include "core/matching/match_node.hpp"

namespace weft::core {

/// `Node` has a `key`, and `links_of(node, policy)` gives something with `behind`, `before` and `next_key`.
template <class Node>
class keyed_queues {
 public:
  /// Nodes whose keys agree for policy `by` are in one queue.
  explicit keyed_queues(match_policy by) noexcept : by_{by} {}

  /// The oldest node whose key agrees with `key` for the policy, or null.
  [[nodiscard]] Node* oldest(const match_key& key) const noexcept {
    return is_empty() ? nullptr : find(reduced(key, by_), by_).head;
  }

  void append(Node& mine) noexcept {
    const match_key key = reduced(mine.key, by_);
    append(mine, bucket_of(key), key, by_);
    buckets_.fit(keys_, [this](Node* first) { relink(first); });
  }
  /// The same without a call of a function, for a caller that knows the policy, which is a constant there. False: the
  /// table may have to grow, and nothing has happened.
  [[nodiscard]] [[gnu::always_inline]] bool try_append(Node& mine, match_policy by) noexcept {
    WEFT_ASSERT_CHECKED(by == by_);
    if (!buckets_.is_settled(keys_ + 1)) [[unlikely]]
      return false;
    const match_key key = reduced(mine.key, by);
    append(mine, buckets_.of_settled(hash_of(key)), key, by);
    return true;
  }

  /// Takes out the oldest node whose key agrees with `key` for the policy `by`, or null.
  [[nodiscard]] [[gnu::always_inline]] Node* take_oldest(const match_key& key, match_policy by) noexcept {
    WEFT_ASSERT_CHECKED(by == by_);
    if (is_empty()) return nullptr;
    const match_key by_policy = reduced(key, by);
    if (!buckets_.is_settled(keys_)) [[unlikely]]
      return take_oldest(bucket_of(by_policy), by_policy, by);
    return take_oldest(buckets_.of_settled(hash_of(by_policy)), by_policy, by);
  }

  /// `which` must be in one of the queues.
  void remove(Node& which) noexcept {
    const match_key key = reduced(which.key, by_);
    Node*& bucket = bucket_of(key);
    const position at = find(bucket, key, by_);
    WEFT_ASSERT_CHECKED(!is_empty() && at.head != nullptr);
    if (&which == at.head) return take_head(at, bucket, by_);
    --younger_;
    auto& own = links_of(which, by_);
    auto* behind = static_cast<Node*>(own.behind.get());
    auto* before = static_cast<Node*>(own.before.get());
    links_of(*before, by_).behind.set(behind);
    links_of(behind != nullptr ? *behind : *at.head, by_).before.set(before);
  }

  /// Takes all nodes out and calls `visit(Node&)` for each of them: of one key the oldest first.
  template <class Visit>
  void take_all(const Visit& visit) {
    if (is_empty()) return;
    keys_ = 0;
    younger_ = 0;
    buckets_.each([&](Node*& first) {
      Node* head = first;
      first = nullptr;
      while (head != nullptr) {
        Node* node = head;
        head = of_link(links_of(*head, by_).next_key);
        while (node != nullptr) {
          Node* const behind = of_link(links_of(*node, by_).behind);
          visit(*node);
          node = behind;
        }
      }
    });
  }

  /// Calls `visit(const Node&)` for each node.
  template <class Visit>
  void each(const Visit& visit) const {
    if (is_empty()) return;
    buckets_.each([&](Node* const& first) {
      for (Node* head = first; head != nullptr; head = of_link(links_of(*head, by_).next_key)) {
        for (Node* node = head; node != nullptr; node = of_link(links_of(*node, by_).behind)) visit(*node);
      }
    });
  }

  /// The most keys that a look passes. Visits all keys.
  [[nodiscard]] std::size_t longest_chain() const noexcept {
    std::size_t out = 0;
    buckets_.each([&](Node* const& first) {
      std::size_t keys = 0;
      for (Node* head = first; head != nullptr; head = of_link(links_of(*head, by_).next_key)) ++keys;
      out = std::max(out, keys);
    });
    return out;
  }

  [[nodiscard]] bool is_empty() const noexcept { return keys_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return keys_ + younger_; }

 private:
  struct position {
    Node* previous_key = nullptr;
    Node* head = nullptr;
  };

  template <class Link>
  static Node* of_link(const Link& link) noexcept {
    return static_cast<Node*>(link.get());
  }

  [[gnu::always_inline]] void append(Node& mine, Node*& bucket, const match_key& key, match_policy by) noexcept {
    Node* const head = find(bucket, key, by).head;
    auto& own = links_of(mine, by);
    own.behind.set(nullptr);
    if (head != nullptr) {
      ++younger_;
      auto& first = links_of(*head, by);
      own.before.set(first.before.get());
      links_of(*static_cast<Node*>(first.before.get()), by).behind.set(&mine);
      first.before.set(&mine);
      return;
    }
    ++keys_;
    own.before.set(&mine);
    own.next_key.set(bucket);
    bucket = &mine;
  }

  [[gnu::always_inline]] Node* take_oldest(Node*& bucket, const match_key& key, match_policy by) noexcept {
    const position at = find(bucket, key, by);
    if (at.head != nullptr) take_head(at, bucket, by);
    return at.head;
  }

  // The next younger node, if any, is the oldest one of the key from now on.
  [[gnu::always_inline]] void take_head(const position& at, Node*& bucket, match_policy by) noexcept {
    auto& own = links_of(*at.head, by);
    auto* behind = static_cast<Node*>(own.behind.get());
    auto* next_key = static_cast<Node*>(own.next_key.get());
    if (behind != nullptr) {
      links_of(*behind, by).before.set(own.before.get());
      links_of(*behind, by).next_key.set(next_key);
      next_key = behind;
      --younger_;
    } else {
      --keys_;
    }
    if (at.previous_key != nullptr) {
      links_of(*at.previous_key, by).next_key.set(next_key);
    } else {
      bucket = next_key;
    }
  }

  [[gnu::always_inline]] static match_key reduced(const match_key& key, match_policy by) noexcept {
    return make_match_key(key.engine(), by, key.rank(), key.tag);
  }
  [[gnu::always_inline]] static std::uint32_t hash_of(const match_key& key) noexcept {
    return static_cast<std::uint32_t>(fingerprint(key));
  }
  Node*& bucket_of(const match_key& key) const noexcept { return buckets_.of(hash_of(key)); }

  [[gnu::always_inline]] position find(const match_key& key, match_policy by) const noexcept {
    return find(bucket_of(key), key, by);
  }
  [[gnu::always_inline]] position find(Node* bucket, const match_key& key, match_policy by) const noexcept {
    position at{nullptr, bucket};
    while (at.head != nullptr && !(reduced(at.head->key, by) == key)) {
      at = {at.head, of_link(links_of(*at.head, by).next_key)};
    }
    return at;
  }

  // The keys of a chain, into the buckets that they have now.
  void relink(Node* first) noexcept {
    while (first != nullptr) {
      auto& own = links_of(*first, by_);
      Node*& bucket = bucket_of(reduced(first->key, by_));
      Node* const next = of_link(own.next_key);
      own.next_key.set(bucket);
      bucket = first;
      first = next;
    }
  }

  growing_buckets<Node> buckets_;
  std::size_t younger_ = 0;  // nodes behind the oldest ones of their keys
  std::uint32_t keys_ = 0;
  match_policy by_;
};

}  // namespace weft::core
