// The matching engine of kind `ordered`: MPI's rules.
//
// A sender numbers its messages to a rank, over all devices and tags of the engine. They may arrive in any order; those
// that are early wait until all before them are here. Then, one after the other, each takes the oldest posted receive
// that it fits, or waits for one; a posted receive takes the oldest message that fits it. Receives may leave rank, tag
// or both open (match_policy rank_only, tag_only, none): the sender does not know of it.
//
// Cost: constant. A receive waits in one queue, that of its policy and key. A message waits in four, one for each
// policy, so that whatever a receive leaves open finds its oldest message at the head of one queue. A message looks at
// the heads of up to four queues of receives (of one while no wildcard is posted) and takes the oldest by its stamp.
// Nothing is allocated after construction: nodes are the caller's, and there is no bound here on how many wait.
// Progress: one try-lock around it all; whoever finds it taken gets the answer busy. Who calls what: any thread
// anything, construction and destruction alone. Linearization: under the lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/try_lock.hpp"
#include "core/keyed_queues.hpp"
#include "core/match_node.hpp"

namespace weft::core {

inline constexpr std::size_t ordered_policy_count = 4;  // all but `user`

/// A message that waits, for those before it or for a receive. Its key has the policy rank_and_tag.
struct ordered_message : match_node {
  struct links {
    guarded<ordered_message*, detail::std_atomics> behind;
    guarded<ordered_message*, detail::std_atomics> before;
    guarded<ordered_message*, detail::std_atomics> next_key;
  };

  std::uint32_t sequence = 0;       // the owner's to set
  match_node* receive = nullptr;    // that it was matched with
  ordered_message* next = nullptr;  // in a list of matched ones; among early ones
  std::array<links, ordered_policy_count> waiting;
};

// What `keyed_queues` chains them by.
[[nodiscard]] inline match_node& links_of(match_node& receive, match_policy /*by*/) noexcept { return receive; }
[[nodiscard]] inline ordered_message::links& links_of(ordered_message& message, match_policy by) noexcept {
  return message.waiting[static_cast<std::size_t>(by)];
}

/// Messages that were taken out, chained by `next`; where they were matched each with its receive, the first matched
/// first. They are the caller's.
struct matched_messages {
  ordered_message* first = nullptr;
  ordered_message* last = nullptr;

  void add(ordered_message& message) noexcept {
    message.next = nullptr;
    (last != nullptr ? last->next : first) = &message;
    last = &message;
  }
};

struct ordered_counts {
  std::size_t early = 0;
  std::size_t messages = 0;
  std::size_t receives = 0;
};

class ordered_matching {
 public:
  /// Messages come from ranks below `source_count`. `bucket_count`: a power of two, about as many as keys that are
  /// waited for at a time. `first_sequence`: the number of each source's first message. Throws std::bad_alloc.
  explicit ordered_matching(std::uint32_t source_count, std::uint32_t bucket_count = 256,
                            std::uint32_t first_sequence = 0);
  ordered_matching(const ordered_matching&) = delete;
  ordered_matching& operator=(const ordered_matching&) = delete;

  /// What an arriving message tries first: it needs no node if it is next in order and a receive waits for it.
  /// `key`: source and tag, policy rank_and_tag.
  /// **Returns**: matched (`receive` is the caller's; `released` has what came early and was matched after it), none
  /// (it would have to wait: nothing happened, `arrive` it), refused (see `arrive`) or busy.
  [[nodiscard]] match_result try_match(const match_key& key, std::uint32_t sequence, match_node*& receive,
                                       matched_messages& released) noexcept;

  /// **Returns**: matched (`message` is the first in `released`), inserted (it waits; `released` may have others that
  /// had waited for it), refused (its number was here before, or its source is none of the job: it is the caller's) or
  /// busy.
  [[nodiscard]] match_result arrive(ordered_message& message, matched_messages& released) noexcept;

  /// Takes out the oldest message that `receive` fits, or lets `receive` wait. The policy of its key says what counts.
  /// **Returns**: matched (`found` is the caller's), inserted or busy.
  [[nodiscard]] match_result post(match_node& receive, ordered_message*& found) noexcept;

  /// Takes out the oldest message that fits `pattern` (a matched probe).
  /// **Returns**: matched (`found` is the caller's), none or busy.
  [[nodiscard]] match_result take(const match_key& pattern, ordered_message*& found) noexcept;

  /// Takes a posted receive out. `is_meant(match_node&)` as for `basic_matching_table::remove`.
  /// **Returns**: removed (it is the caller's), none (it was matched) or busy.
  template <class IsMeant>
  [[nodiscard]] match_result remove(match_node& receive, IsMeant&& is_meant) noexcept {
    const entered inside{lock_};
    if (!inside) return match_result::busy;
    // [ordered.still] relaxed <- [ordered.posted], [ordered.gone]: it can only be this number by the last store under
    // this lock.
    if (receive.place.load(std::memory_order_relaxed) != place_ || !is_meant(receive)) return match_result::none;
    take_out(receive);
    return match_result::removed;
  }
  [[nodiscard]] match_result remove(match_node& receive) noexcept {
    return remove(receive, [](const match_node&) { return true; });
  }

  /// Takes out all that waits: the engine is withdrawn, or goes. Messages come in their order of arrival, early ones
  /// after them in no order, receives one by one chained by `behind`, in no order.
  /// **Returns**: removed or busy.
  [[nodiscard]] match_result take_all(matched_messages& messages, match_node*& receives) noexcept;

  /// False: busy.
  [[nodiscard]] bool try_count(ordered_counts& out) noexcept;

 private:
  class entered {
   public:
    explicit entered(base::try_lock& lock) noexcept : lock_{lock}, is_inside_{lock.try_enter()} {}
    ~entered() {
      if (is_inside_) lock_.leave();
    }
    entered(const entered&) = delete;
    entered& operator=(const entered&) = delete;
    explicit operator bool() const noexcept { return is_inside_; }

   private:
    base::try_lock& lock_;
    bool is_inside_;
  };

  struct source {
    std::uint32_t next_sequence = 0;
    std::uint32_t early_count = 0;
  };

  enum class turn : std::uint8_t { now, later, never };

  [[nodiscard]] turn turn_of(const match_key& key, std::uint32_t sequence) const noexcept;
  [[nodiscard]] match_node* oldest_receive(const match_key& key) const noexcept;
  void take_out(match_node& receive) noexcept;
  void take_out(ordered_message& message) noexcept;
  bool deliver(ordered_message& message, matched_messages& released) noexcept;
  void deliver_early(std::uint32_t rank, matched_messages& released) noexcept;
  [[nodiscard]] bool keep_early(ordered_message& message) noexcept;
  [[nodiscard]] ordered_message* take_early(std::uint32_t rank, std::uint32_t sequence) noexcept;
  [[nodiscard]] ordered_message*& early_bucket(std::uint32_t rank, std::uint32_t sequence) const noexcept;

  base::try_lock lock_;
  std::uint32_t place_;  // of receives that wait here; no two objects have the same one
  std::uint32_t source_count_;
  std::uint32_t mask_;
  std::uint64_t posted_ = 0;
  std::size_t early_count_ = 0;
  std::unique_ptr<source[]> sources_;
  std::unique_ptr<ordered_message*[]> early_;  // by source and number
  std::array<keyed_queues<match_node>, ordered_policy_count> receives_;
  std::array<keyed_queues<ordered_message>, ordered_policy_count> messages_;
};

}  // namespace weft::core
