// SPDX-License-Identifier: BSD-3-Clause
// Messages of an ordered engine that have arrived before an older message of their source, and so are *early*: a hash
// table by source and number. Intrusive, by `next`. **Threads**: one at a time.
//
// Cost: constant. The table grows (growing_buckets.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/random.hpp"
#include "core/matching/growing_buckets.hpp"

namespace weft::core {

template <class Node>
class out_of_sequence_messages {
 public:
  /// False: a message with this number already waits.
  [[nodiscard]] bool keep(Node& message) noexcept {
    if (has(message.key.rank(), message.sequence)) return false;
    link(message);
    buckets_.fit(++count_, [this](Node* first) {
      while (first != nullptr) link(*std::exchange(first, first->next));
    });
    return true;
  }

  /// Whether the message with this number waits.
  [[nodiscard]] bool has(std::uint32_t rank, std::uint32_t sequence) const noexcept {
    const Node* each = bucket_of(rank, sequence);
    while (each != nullptr && (each->key.rank() != rank || each->sequence != sequence)) each = each->next;
    return each != nullptr;
  }

  /// Takes out the message with this number, if it is there; else null.
  [[nodiscard]] Node* take(std::uint32_t rank, std::uint32_t sequence) noexcept {
    Node** link = &bucket_of(rank, sequence);
    while (*link != nullptr && ((*link)->key.rank() != rank || (*link)->sequence != sequence)) link = &(*link)->next;
    Node* const found = *link;
    if (found == nullptr) return nullptr;
    *link = found->next;
    --count_;
    return found;
  }

  /// Takes all messages out, in no order, and calls `visit(Node&)` for each of them.
  template <class Visit>
  void take_all(const Visit& visit) {
    if (count_ == 0) return;
    count_ = 0;
    buckets_.each([&](Node*& first) {
      for (Node* each = std::exchange(first, nullptr); each != nullptr;) {
        Node* const next = each->next;
        visit(*each);
        each = next;
      }
    });
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// The most messages that a look passes. Visits all of them.
  [[nodiscard]] std::size_t longest_chain() const noexcept {
    std::size_t out = 0;
    buckets_.each([&](const Node* first) {
      std::size_t length = 0;
      for (; first != nullptr; first = first->next) ++length;
      out = std::max(out, length);
    });
    return out;
  }

 private:
  // Peers choose the numbers. They do not know the factor, so they cannot choose numbers of one bucket.
  Node*& bucket_of(std::uint32_t rank, std::uint32_t sequence) const noexcept {
    constexpr std::uint64_t second_factor = 0x9e37'79b9'7f4a'7c15;
    std::uint64_t mixed = (std::uint64_t{rank} << 32 | sequence) * factor_;
    mixed = (mixed ^ mixed >> 32) * second_factor;
    return buckets_.bucket_of(static_cast<std::uint32_t>(mixed >> 32));
  }
  void link(Node& message) noexcept {
    Node*& bucket = bucket_of(message.key.rank(), message.sequence);
    message.next = bucket;
    bucket = &message;
  }

  std::uint64_t factor_ = base::random_word() | 1;  // odd
  std::uint32_t count_ = 0;
  growing_buckets<Node> buckets_;
};

}  // namespace weft::core
