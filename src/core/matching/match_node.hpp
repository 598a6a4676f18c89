// What waits to be matched: a posted receive or an unexpected message, and the key that both sides must agree on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/atomics.hpp"
#include "weft/matching_engine.hpp"

namespace weft::core {

enum class match_side : std::uint8_t { send, receive };

/// Of keys that the user's function makes (`matching_engine_options::make_key`); beside those of the interface.
inline constexpr match_policy user_policy{4};

/// Stands in a key for a rank that does not count.
inline constexpr std::uint32_t no_rank = ~std::uint32_t{0};

/// Compared in full: three words without gaps, so that it takes as many comparisons.
struct match_key {
  std::uint64_t who = no_rank;  // the engine's id in the high half, the sender's rank in the low one
  std::uint64_t tag = 0;        // or the user's own key
  /// The `match_policy`: a receive of one policy never meets a send of another. In an ordered engine it is the
  /// receive's alone, and leaves rank or tag open.
  std::uint64_t policy_word = 0;

  [[nodiscard]] constexpr match_policy policy() const noexcept { return static_cast<match_policy>(policy_word); }
  [[nodiscard]] constexpr std::uint32_t engine() const noexcept { return static_cast<std::uint32_t>(who >> 32); }
  [[nodiscard]] constexpr std::uint32_t rank() const noexcept { return static_cast<std::uint32_t>(who); }

  friend constexpr bool operator==(const match_key& a, const match_key& b) noexcept {
    return ((a.who ^ b.who) | (a.tag ^ b.tag) | (a.policy_word ^ b.policy_word)) == 0;
  }
};
static_assert(sizeof(match_key) == 24);

/// The key under which `rank` and `tag` meet by `policy`: what does not count is the same in all of them.
[[nodiscard]] constexpr match_key make_match_key(std::uint32_t engine, match_policy policy, std::uint32_t rank,
                                                 std::uint64_t tag) noexcept {
  const auto policy_word = static_cast<std::uint64_t>(policy);
  if (policy == match_policy::rank_tag) [[likely]]
    return {std::uint64_t{engine} << 32 | rank, tag, policy_word};
  const bool by_rank = policy == match_policy::rank_only;
  const bool by_tag = policy != match_policy::rank_only && policy != match_policy::none;
  return {std::uint64_t{engine} << 32 | (by_rank ? rank : no_rank), by_tag ? tag : 0, policy_word};
}

/// 64 bits that all parts of the key go into, of which the low ones choose the bucket: one product of 128 bits, whose
/// middle every bit of both factors has a part in, folded onto itself. Whatever collides is told apart by the whole
/// key.
[[nodiscard]] constexpr std::uint64_t fingerprint(const match_key& key) noexcept {
  __extension__ using product = unsigned __int128;
  const std::uint64_t who = key.who ^ key.policy_word << 29 ^ 0x9e3779b97f4a7c15u;
  const product both = static_cast<product>(who) * (key.tag ^ 0xff51afd7ed558ccdu);
  return static_cast<std::uint64_t>(both >> 64) ^ static_cast<std::uint64_t>(both) >> 32;
}

/// A plain member that a lock guards.
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

/// The base of what waits. While a node waits all of it belongs to where it waits; before and after, to its owner.
/// Its memory outlasts every `remove` that may name it.
template <class Atomics = detail::std_atomics>
struct basic_match_node {
  using link = guarded<basic_match_node*, Atomics>;

  match_key key{};                        // the owner's to set
  match_side side = match_side::receive;  // the owner's to set
  /// Where the node waits: a number of whatever it waits in; 0: nowhere. Changes only under that one's lock.
  typename Atomics::template atomic<std::uint32_t> location{0};
  link behind;              // the next younger one of the same key
  link before;              // the next older one; in the oldest one, the youngest
  link next_key;            // in the oldest one: the oldest one of another key
  std::uint64_t stamp = 0;  // in an ordered engine: when it was posted
};

using match_node = basic_match_node<>;
static_assert(sizeof(match_node) == detail::cache_line_bytes);

/// What became of a call. `busy`: another thread was in the way; nothing happened.
enum class match_result : std::uint8_t {
  inserted,  // the node waits now, and may be taken out and completed by another thread before this is read
  matched,   // one that waited was taken out; it is the caller's
  removed,   // the node was taken out; it is the caller's
  none,      // nothing there
  refused,   // an ordered message whose number or source cannot be
  busy,
};

}  // namespace weft::core
