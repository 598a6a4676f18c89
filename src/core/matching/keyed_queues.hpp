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
  /// Nodes whose keys agree for policy `policy` are in one queue.
  explicit keyed_queues(match_policy policy) noexcept : policy_{policy} {}

  /// The oldest node whose key agrees with `key` for the policy, or null.
  [[nodiscard]] Node* oldest(const match_key& key) const noexcept {
    return is_empty() ? nullptr : find(reduced(key, policy_), policy_).head;
  }

  void append(Node& mine) noexcept {
    const match_key key = reduced(mine.key, policy_);
    append(mine, bucket_of(key), key, policy_);
    buckets_.fit(keys_, [this](Node* first) { relink(first); });
  }
  /// Appends without a call of a function, for a caller that knows the policy, which is a constant there. False: the
  /// table may have to grow, and nothing has happened.
  [[nodiscard]] [[gnu::always_inline]] bool try_append(Node& mine, match_policy policy) noexcept {
    WEFT_ASSERT_CHECKED(policy == policy_);
    if (!buckets_.is_settled(keys_ + 1)) [[unlikely]]
      return false;
    const match_key key = reduced(mine.key, policy);
    append(mine, buckets_.settled_bucket_of(hash_of(key)), key, policy);
    return true;
  }

  /// Takes out the oldest node whose key agrees with `key` for the policy `policy`, or null.
  [[nodiscard]] [[gnu::always_inline]] Node* take_oldest(const match_key& key, match_policy policy) noexcept {
    WEFT_ASSERT_CHECKED(policy == policy_);
    if (is_empty()) return nullptr;
    const match_key by_policy = reduced(key, policy);
    if (!buckets_.is_settled(keys_)) [[unlikely]]
      return take_oldest(bucket_of(by_policy), by_policy, policy);
    return take_oldest(buckets_.settled_bucket_of(hash_of(by_policy)), by_policy, policy);
  }

  /// `which` must be in one of the queues.
  void remove(Node& which) noexcept {
    const match_key key = reduced(which.key, policy_);
    Node*& bucket = bucket_of(key);
    const position entry = find(bucket, key, policy_);
    WEFT_ASSERT_CHECKED(!is_empty() && entry.head != nullptr);
    if (&which == entry.head) return take_head(entry, bucket, policy_);
    --younger_;
    auto& own = links_of(which, policy_);
    auto* behind = static_cast<Node*>(own.behind.get());
    auto* before = static_cast<Node*>(own.before.get());
    links_of(*before, policy_).behind.set(behind);
    links_of(behind != nullptr ? *behind : *entry.head, policy_).before.set(before);
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
        head = of_link(links_of(*head, policy_).next_key);
        while (node != nullptr) {
          Node* const behind = of_link(links_of(*node, policy_).behind);
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
      for (Node* head = first; head != nullptr; head = of_link(links_of(*head, policy_).next_key)) {
        for (Node* node = head; node != nullptr; node = of_link(links_of(*node, policy_).behind)) visit(*node);
      }
    });
  }

  /// The most keys that a look passes. Visits all keys.
  [[nodiscard]] std::size_t longest_chain() const noexcept {
    std::size_t out = 0;
    buckets_.each([&](Node* const& first) {
      std::size_t keys = 0;
      for (Node* head = first; head != nullptr; head = of_link(links_of(*head, policy_).next_key)) ++keys;
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

  [[gnu::always_inline]] void append(Node& mine, Node*& bucket, const match_key& key, match_policy policy) noexcept {
    Node* const head = find(bucket, key, policy).head;
    auto& own = links_of(mine, policy);
    own.behind.set(nullptr);
    if (head != nullptr) {
      ++younger_;
      auto& first = links_of(*head, policy);
      own.before.set(first.before.get());
      links_of(*static_cast<Node*>(first.before.get()), policy).behind.set(&mine);
      first.before.set(&mine);
      return;
    }
    ++keys_;
    own.before.set(&mine);
    own.next_key.set(bucket);
    bucket = &mine;
  }

  [[gnu::always_inline]] Node* take_oldest(Node*& bucket, const match_key& key, match_policy policy) noexcept {
    const position entry = find(bucket, key, policy);
    if (entry.head != nullptr) take_head(entry, bucket, policy);
    return entry.head;
  }

  // The next younger node, if any, is the oldest one of the key from now on.
  [[gnu::always_inline]] void take_head(const position& entry, Node*& bucket, match_policy policy) noexcept {
    auto& own = links_of(*entry.head, policy);
    auto* behind = static_cast<Node*>(own.behind.get());
    auto* next_key = static_cast<Node*>(own.next_key.get());
    if (behind != nullptr) {
      links_of(*behind, policy).before.set(own.before.get());
      links_of(*behind, policy).next_key.set(next_key);
      next_key = behind;
      --younger_;
    } else {
      --keys_;
    }
    if (entry.previous_key != nullptr) {
      links_of(*entry.previous_key, policy).next_key.set(next_key);
    } else {
      bucket = next_key;
    }
  }

  [[gnu::always_inline]] static match_key reduced(const match_key& key, match_policy policy) noexcept {
    return make_match_key(key.engine(), policy, key.rank(), key.tag);
  }
  [[gnu::always_inline]] static std::uint32_t hash_of(const match_key& key) noexcept {
    return static_cast<std::uint32_t>(fingerprint(key));
  }
  Node*& bucket_of(const match_key& key) const noexcept { return buckets_.bucket_of(hash_of(key)); }

  [[gnu::always_inline]] position find(const match_key& key, match_policy policy) const noexcept {
    return find(bucket_of(key), key, policy);
  }
  [[gnu::always_inline]] position find(Node* bucket, const match_key& key, match_policy policy) const noexcept {
    position entry{nullptr, bucket};
    while (entry.head != nullptr && !(reduced(entry.head->key, policy) == key)) {
      entry = {entry.head, of_link(links_of(*entry.head, policy).next_key)};
    }
    return entry;
  }

  // The keys of a chain, into the buckets that they have now.
  void relink(Node* first) noexcept {
    while (first != nullptr) {
      auto& own = links_of(*first, policy_);
      Node*& bucket = bucket_of(reduced(first->key, policy_));
      Node* const next = of_link(own.next_key);
      own.next_key.set(bucket);
      bucket = first;
      first = next;
    }
  }

  growing_buckets<Node> buckets_;
  std::size_t younger_ = 0;  // nodes behind the oldest ones of their keys
  std::uint32_t keys_ = 0;
  match_policy policy_;
};

}  // namespace weft::core
