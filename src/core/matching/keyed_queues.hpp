// First-in-first-out queues, one for each key that has waiting nodes: a hash table from keys to the oldest node of
// each, with the younger ones chained behind it. Intrusive. **Threads**: one at a time.
//
// Cost: constant as long as there are not many more keys than buckets. Nothing is ever allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assertion.hpp"
#include "core/matching/match_node.hpp"

namespace weft::core {

/// `Node` has a `key`, and `links_of(node, policy)` gives something with `behind`, `before` and `next_key`.
template <class Node>
class keyed_queues {
 public:
  /// Nodes whose keys agree in what policy `by` compares are in one queue. `bucket_count`: a power of two.
  keyed_queues(match_policy by, std::uint32_t bucket_count)
      : by_{by}, mask_{bucket_count - 1}, buckets_{std::make_unique<Node*[]>(bucket_count)} {}

  /// The oldest node whose key agrees with `key` in what the policy compares, or null.
  [[nodiscard]] Node* oldest(const match_key& key) const noexcept {
    return size_ == 0 ? nullptr : find(reduced(key)).head;
  }

  void append(Node& mine) noexcept {
    const match_key key = reduced(mine.key);
    Node* head = find(key).head;
    auto& own = links_of(mine, by_);
    own.behind.set(nullptr);
    if (head == nullptr) {
      Node*& bucket = bucket_of(key);
      own.before.set(&mine);
      own.next_key.set(bucket);
      bucket = &mine;
    } else {
      auto& first = links_of(*head, by_);
      own.before.set(first.before.get());
      links_of(*static_cast<Node*>(first.before.get()), by_).behind.set(&mine);
      first.before.set(&mine);
    }
    ++size_;
  }

  /// `which` must be in one of the queues.
  void remove(Node& which) noexcept {
    const match_key key = reduced(which.key);
    const position at = find(key);
    WEFT_ASSERT_CHECKED(size_ != 0 && at.head != nullptr);
    auto& own = links_of(which, by_);
    auto* behind = static_cast<Node*>(own.behind.get());
    auto* before = static_cast<Node*>(own.before.get());
    if (&which != at.head) {
      links_of(*before, by_).behind.set(behind);
      links_of(behind != nullptr ? *behind : *at.head, by_).before.set(before);
    } else {
      auto* next_key = static_cast<Node*>(own.next_key.get());
      if (behind != nullptr) {
        links_of(*behind, by_).before.set(before);
        links_of(*behind, by_).next_key.set(next_key);
        next_key = behind;
      }
      if (at.previous_key != nullptr) {
        links_of(*at.previous_key, by_).next_key.set(next_key);
      } else {
        bucket_of(key) = next_key;
      }
    }
    --size_;
  }

  /// The oldest node of some key, or null if there are no nodes.
  [[nodiscard]] Node* any() const noexcept {
    if (size_ == 0) return nullptr;
    std::uint32_t bucket = 0;
    while (buckets_[bucket] == nullptr) ++bucket;
    return buckets_[bucket];
  }

  /// Calls `visit(const Node&)` for each node.
  template <class Visit>
  void each(const Visit& visit) const {
    if (size_ == 0) return;
    for (std::uint32_t bucket = 0; bucket <= mask_; ++bucket) {
      for (Node* head = buckets_[bucket]; head != nullptr; head = of_link(links_of(*head, by_).next_key)) {
        for (Node* node = head; node != nullptr; node = of_link(links_of(*node, by_).behind)) visit(*node);
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct position {
    Node* previous_key = nullptr;
    Node* head = nullptr;
  };

  template <class Link>
  static Node* of_link(const Link& link) noexcept {
    return static_cast<Node*>(link.get());
  }

  match_key reduced(const match_key& key) const noexcept {
    return make_match_key(key.engine(), by_, key.rank(), key.tag);
  }
  Node*& bucket_of(const match_key& key) const noexcept { return buckets_[fingerprint(key) & mask_]; }

  position find(const match_key& key) const noexcept {
    position at{nullptr, bucket_of(key)};
    while (at.head != nullptr && !(reduced(at.head->key) == key)) {
      at = {at.head, static_cast<Node*>(links_of(*at.head, by_).next_key.get())};
    }
    return at;
  }

  match_policy by_;
  std::uint32_t mask_;
  std::size_t size_ = 0;
  std::unique_ptr<Node*[]> buckets_;
};

}  // namespace weft::core
