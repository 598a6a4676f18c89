// SPDX-License-Identifier: BSD-3-Clause
// The receives that wait in an ordered engine (ordered_matching.hpp): a queue for each key of each policy, and a stamp
// by which the oldest of several queues is found. A receive that names rank and tag and waits alone, as that of a
// program which waits for one message after another, is in no queue: the next one puts it into its queue. Nor is one
// receive that leaves rank or tag open, as the one of a thread that serves all others.
//
// Cost: constant; one comparison for a receive that waits alone, one queue while no receive leaves rank or tag open.
// **Threads**: one at a time, but for the locations of nodes, which threads read that cancel a receive.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/assertion.hpp"
#include "core/matching/keyed_queues.hpp"
#include "core/matching/match_node.hpp"

namespace weft::core {

inline constexpr std::size_t ordered_policy_count = 4;  // all but `user`
[[nodiscard]] constexpr std::size_t index_of(match_policy policy) noexcept { return static_cast<std::size_t>(policy); }

template <class Node>
[[nodiscard]] std::array<keyed_queues<Node>, ordered_policy_count> make_queues() noexcept {
  return {keyed_queues<Node>{match_policy::rank_tag}, keyed_queues<Node>{match_policy::rank_only},
          keyed_queues<Node>{match_policy::tag_only}, keyed_queues<Node>{match_policy::none}};
}

// The links by which `keyed_queues` chains receives.
template <class Atomics>
[[nodiscard]] basic_match_node<Atomics>& links_of(basic_match_node<Atomics>& receive, match_policy /*by*/) noexcept {
  return receive;
}

/// The `location` of receives that wait in one engine; no two have the same one.
[[nodiscard]] inline std::uint32_t new_ordered_location() noexcept {
  constexpr std::uint32_t mark = 0x8000'0000;  // locations in the matching table are below
  static std::atomic<std::uint32_t> made{0};
  // [ordered.number] relaxed: a number and nothing else.
  return mark | made.fetch_add(1, std::memory_order_relaxed);
}

template <class Atomics = detail::std_atomics>
class basic_posted_receives {
 public:
  using node = basic_match_node<Atomics>;

  basic_posted_receives() : queues_(make_queues<node>()) {}

  void append(node& receive) noexcept {
    const match_policy policy = receive.key.policy();
    WEFT_ASSERT_CHECKED(policy <= match_policy::none);
    end_alone();
    if (policy != match_policy::rank_tag) ++open_;
    queues_[index_of(policy)].append(receive);
    note_posted(receive);
  }
  /// Matches a receive that names rank and tag, without a function call. False: nothing has happened; the queues
  /// have to grow, or chains to move.
  [[nodiscard]] [[gnu::always_inline]] bool try_append_named(node& receive) noexcept {
    constexpr match_policy policy = match_policy::rank_tag;
    WEFT_ASSERT_CHECKED(receive.key.policy() == policy);
    auto& named = queues_[index_of(policy)];
    if (alone_ == nullptr && open_ == 0 && named.is_empty()) {
      alone_ = &receive;
    } else {
      if (alone_ != nullptr) {
        if (!named.try_append(*alone_, policy)) [[unlikely]]
          return false;
        alone_ = nullptr;
      }
      if (!named.try_append(receive, policy)) [[unlikely]]
        return false;
    }
    note_posted(receive);
    return true;
  }

  /// Appends a receive that leaves rank or tag open, without a function call. False: nothing has happened; it is not
  /// the only one, or another receive waits alone.
  [[nodiscard]] [[gnu::always_inline]] bool try_append_open(node& receive) noexcept {
    WEFT_ASSERT_CHECKED(receive.key.policy() != match_policy::rank_tag);
    if (alone_ != nullptr || open_ != 0) return false;
    open_alone_ = &receive;
    open_ = 1;
    note_posted(receive);
    return true;
  }

  /// Takes out the oldest receive that matches a message with this key, or null.
  [[nodiscard]] [[gnu::always_inline]] node* take_oldest(const match_key& key) noexcept {
    if (alone_ != nullptr) {
      node* const only = alone_;
      if (!(only->key == key)) return nullptr;
      alone_ = nullptr;
      note_gone(*only);
      return only;
    }
    if (open_ != 0) [[unlikely]]
      return take_oldest_of_any(key);
    constexpr match_policy policy = match_policy::rank_tag;
    node* const found = queues_[index_of(policy)].take_oldest(key, policy);
    if (found != nullptr) note_gone(*found);
    return found;
  }

  /// Whether the receive waits here. Under the engine's lock the answer stays true.
  [[nodiscard]] bool has(const node& receive) const noexcept {
    // [ordered.still] relaxed <- [ordered.posted], [ordered.gone]: only a thread with the engine's lock stores this
    // number or replaces it.
    return receive.location.load(std::memory_order_relaxed) == location_;
  }
  /// It must wait here.
  void remove(node& receive) noexcept {
    const match_policy policy = receive.key.policy();
    if (&receive == alone_) {
      alone_ = nullptr;
    } else if (&receive == open_alone_) {
      open_alone_ = nullptr;
      --open_;
    } else {
      queues_[index_of(policy)].remove(receive);
      if (policy != match_policy::rank_tag) --open_;
    }
    note_gone(receive);
  }

  /// Takes all receives out and calls `visit(node&)` for each.
  template <class Visit>
  void take_all(const Visit& visit) noexcept {
    end_alone();
    open_ = 0;
    const auto take = [&](node& receive) {
      note_gone(receive);
      visit(receive);
    };
    if (open_alone_ != nullptr) take(*open_alone_);
    open_alone_ = nullptr;
    for (auto& each : queues_) each.take_all(take);
  }
  /// Calls `visit(const node&)` for each.
  template <class Visit>
  void each(const Visit& visit) const {
    if (alone_ != nullptr) visit(static_cast<const node&>(*alone_));
    if (open_alone_ != nullptr) visit(static_cast<const node&>(*open_alone_));
    for (const auto& by_policy : queues_) by_policy.each(visit);
  }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t out = (alone_ != nullptr ? 1 : 0) + (open_alone_ != nullptr ? 1 : 0);
    for (const auto& each : queues_) out += each.size();
    return out;
  }
  /// The most keys that a look passes. Visits all keys.
  [[nodiscard]] std::size_t longest_chain() const noexcept {
    std::size_t out = 0;
    for (const auto& each : queues_) out = std::max(out, each.longest_chain());
    return out;
  }

 private:
  // The receive that waits alone is in its queue from now on.
  void end_alone() noexcept {
    if (alone_ == nullptr) return;
    queues_[index_of(match_policy::rank_tag)].append(*alone_);
    alone_ = nullptr;
  }

  [[gnu::always_inline]] void note_posted(node& receive) noexcept {
    receive.stamp = posted_++;
    // [ordered.posted] relaxed -> [ordered.still]: under the lock.
    receive.location.store(location_, std::memory_order_relaxed);
  }

  // Whether a message with this key is for the receive.
  [[nodiscard]] static bool is_for(const node& receive, const match_key& key) noexcept {
    return receive.key == make_match_key(key.engine(), receive.key.policy(), key.rank(), key.tag);
  }

  [[gnu::noinline]] node* take_oldest_of_any(const match_key& key) noexcept {
    node* oldest = open_alone_ != nullptr && is_for(*open_alone_, key) ? open_alone_ : nullptr;
    for (const auto& each : queues_) {
      node* const candidate = each.oldest(key);
      if (candidate != nullptr && (oldest == nullptr || candidate->stamp < oldest->stamp)) oldest = candidate;
    }
    if (oldest != nullptr) remove(*oldest);
    return oldest;
  }

  [[gnu::always_inline]] static void note_gone(node& receive) noexcept {
    // [ordered.gone] relaxed -> [ordered.still]: under the lock.
    receive.location.store(0, std::memory_order_relaxed);
  }

  std::uint32_t location_ = new_ordered_location();
  std::uint64_t posted_ = 0;
  std::size_t open_ = 0;        // receives that leave rank or tag open
  node* alone_ = nullptr;       // the only receive, if it names rank and tag, and is in no queue
  node* open_alone_ = nullptr;  // one that leaves rank or tag open, and is in no queue
  std::array<keyed_queues<node>, ordered_policy_count> queues_;
};

}  // namespace weft::core
