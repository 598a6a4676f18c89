// SPDX-License-Identifier: BSD-3-Clause
// A posted receive or an unexpected message that waits to be matched, with the key that must be equal on both sides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/atomics.hpp"
#include "weft/matching_engine.hpp"

namespace weft::core {

enum class match_side : std::uint8_t { send, receive };

/// The policy of keys that the user's function makes (`matching_engine_options::make_key`); not part of the interface.
inline constexpr match_policy user_policy{4};

/// Stands in a key in place of a rank that is not compared.
inline constexpr std::uint32_t no_rank = ~std::uint32_t{0};

/// Three words without gaps, which are all compared.
struct match_key {
  std::uint64_t source = no_rank;  // the engine's id in the high half, the sender's rank in the low one
  std::uint64_t tag = 0;           // or the user's own key
  /// The `match_policy`: a receive of one policy never matches a send of another. In an ordered engine only receives
  /// have a policy, which may leave rank or tag open.
  std::uint64_t policy_word = 0;

  [[nodiscard]] constexpr match_policy policy() const noexcept { return static_cast<match_policy>(policy_word); }
  [[nodiscard]] constexpr std::uint32_t engine() const noexcept { return static_cast<std::uint32_t>(source >> 32); }
  [[nodiscard]] constexpr std::uint32_t rank() const noexcept { return static_cast<std::uint32_t>(source); }

  friend constexpr bool operator==(const match_key& a, const match_key& b) noexcept {
    return ((a.source ^ b.source) | (a.tag ^ b.tag) | (a.policy_word ^ b.policy_word)) == 0;
  }
};
static_assert(sizeof(match_key) == 24);

/// The key of `rank` and `tag` by `policy`: what the policy does not compare has the same value in all keys.
[[nodiscard]] constexpr match_key make_match_key(std::uint32_t engine, match_policy policy, std::uint32_t rank,
                                                 std::uint64_t tag) noexcept {
  const auto policy_word = static_cast<std::uint64_t>(policy);
  if (policy == match_policy::rank_tag) [[likely]]
    return {std::uint64_t{engine} << 32 | rank, tag, policy_word};
  const bool by_rank = policy == match_policy::rank_only;
  const bool by_tag = policy != match_policy::rank_only && policy != match_policy::none;
  return {std::uint64_t{engine} << 32 | (by_rank ? rank : no_rank), by_tag ? tag : 0, policy_word};
}

/// The policy of a receive in an ordered engine, by the parts that it leaves open.
[[nodiscard]] constexpr match_policy open_policy(std::uint32_t peer, bool any_tag) noexcept {
  if (peer == any_rank) return any_tag ? match_policy::none : match_policy::tag_only;
  return any_tag ? match_policy::rank_only : match_policy::rank_tag;
}

/// A hash of all parts of the key, whose low bits choose the bucket: a product of 128 bits, folded to 64 so that every
/// bit of both factors counts. Keys with equal hashes are told apart by comparing the whole keys.
[[nodiscard]] constexpr std::uint64_t fingerprint(const match_key& key) noexcept {
  __extension__ using product = unsigned __int128;
  const std::uint64_t mixed = key.source ^ key.policy_word << 29 ^ 0x9e3779b97f4a7c15u;
  const product both = static_cast<product>(mixed) * (key.tag ^ 0xff51afd7ed558ccdu);
  return static_cast<std::uint64_t>(both >> 64) ^ static_cast<std::uint64_t>(both) >> 32;
}

/// A non-atomic member that a lock guards.
template <class T, class Atomics>
class guarded {
 public:
  [[nodiscard]] T get() const noexcept {
    T out;
    Atomics::read_nonatomic(&out, &value_, sizeof out);
    return out;
  }
  void set(T value) noexcept { Atomics::write_nonatomic(&value_, &value, sizeof value); }

 private:
  T value_{};
};

/// The base of a waiting receive or message. While a node waits, all of it belongs to the table or engine in which it
/// waits; before and after, to its owner. Its memory must outlive every `remove` that may name it.
template <class Atomics = detail::std_atomics>
struct basic_match_node {
  using link = guarded<basic_match_node*, Atomics>;

  match_key key{};                        // set by the owner
  match_side side = match_side::receive;  // set by the owner
  /// The number of the bucket or engine in which the node waits; 0: none. Changes only under the lock of that one.
  typename Atomics::template atomic<std::uint32_t> location{0};
  link behind;              // the next younger node of the same key
  link before;              // the next older node; in the oldest one, the youngest
  link next_key;            // leads from the oldest node of a key to the oldest of another key
  std::uint64_t stamp = 0;  // time of its post, used by an ordered engine

  // Reads a node that waits, under the lock of its bucket.
  [[nodiscard]] match_key locked_key() const noexcept {
    match_key out;
    Atomics::read_nonatomic(&out, &key, sizeof out);
    return out;
  }
  // Word by word: a copy of the whole key would be stored to the stack.
  [[nodiscard]] bool has_key(const match_key& other) const noexcept {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(&key);
    std::uint64_t source, tag, policy;
    Atomics::read_nonatomic(&source, words, sizeof source);
    Atomics::read_nonatomic(&tag, words + 1, sizeof tag);
    Atomics::read_nonatomic(&policy, words + 2, sizeof policy);
    return ((source ^ other.source) | (tag ^ other.tag) | (policy ^ other.policy_word)) == 0;
  }
  [[nodiscard]] match_side locked_side() const noexcept {
    match_side out{};
    Atomics::read_nonatomic(&out, &side, sizeof out);
    return out;
  }
};

using match_node = basic_match_node<>;
static_assert(sizeof(match_node) == detail::cache_line_bytes);

/// The result of a call.
enum class match_result : std::uint8_t {
  inserted,  // the node waits now, and may be taken out and completed by another thread before this is read
  matched,   // a waiting node was taken out; it now belongs to the caller
  removed,   // the node was taken out; it now belongs to the caller
  none,      // no such node waits
  early,     // an ordered message that has to wait for the messages before it
  refused,   // an ordered message whose number or source is impossible
  busy,      // another thread held the lock; nothing happened
};

}  // namespace weft::core
