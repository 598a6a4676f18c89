// SPDX-License-Identifier: BSD-3-Clause
// The matching engine of kind `ordered`: MPI's rules.
//
// A sender numbers its messages to a rank, over all devices and tags of the engine. They may arrive in any order; an
// early message waits until all messages before it have arrived. Then, one after the other, each message is put in
// order: it takes the oldest posted receive that matches it, or waits for one; a posted receive takes the oldest
// message that matches it. A call puts at most 256 early messages in order; `continue_early` does so with the others.
//
// The engine counts what it puts in order in steps, and the caller gets each full step (order_credits.hpp).
//
// Receives may leave rank, tag or both open (match_policy rank_only, tag_only, none); the sender does not know that.
//
// Cost: constant. A receive waits in one queue, which its policy and key select. A message waits in four, one for each
// policy, so that a receive of any policy finds its oldest message at the head of one queue. A message looks at the
// heads of up to four queues of receives (of one while no wildcard is posted) and takes the oldest receive by its
// stamp. Nodes belong to the caller, and any number may wait: the hash tables grow with their keys, by a few buckets in
// each call (growing_buckets.hpp). Memory of an engine without traffic: 1 KiB, and 8 bytes for each source. Progress:
// one lock around every call; if another thread holds it, the answer is busy. `post_or_leave` then leaves the receive
// with the lock: the thread inside posts it before it leaves (handover_lock.hpp), so the receive keeps its place before
// later ones. Callers: any thread may call any function; construction and destruction are alone. Linearization: under
// the lock; of a receive that is left, when it is left. Model test: tests/model/ordered_matching_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assertion.hpp"
#include "core/matching/handover_lock.hpp"
#include "core/matching/keyed_queues.hpp"
#include "core/matching/match_node.hpp"
#include "core/matching/ordered_sources.hpp"
#include "core/matching/out_of_sequence_messages.hpp"
#include "core/matching/posted_receives.hpp"

namespace weft::core {

/// A message that waits for the messages before it, or for a receive; or, with `takes_back`, one that takes back an
/// earlier message of its source. Its key has the policy rank_tag.
template <class Atomics = detail::std_atomics>
struct basic_ordered_message : basic_match_node<Atomics> {
  struct links {
    guarded<basic_ordered_message*, Atomics> behind;
    guarded<basic_ordered_message*, Atomics> before;
    guarded<basic_ordered_message*, Atomics> next_key;
  };

  std::uint32_t sequence = 0;                    // set by the owner
  bool takes_back = false;                       // the message `name`; set by the owner
  bool is_reserved = false;                      // `settle` is called before it waits for a receive; set by the owner
  std::uint64_t name = 0;                        // its source takes it back by this; 0: never. Set by the owner
  basic_match_node<Atomics>* receive = nullptr;  // that it was matched with
  basic_ordered_message* next = nullptr;         // next in a list of matched messages, or of early ones
  std::array<links, ordered_policy_count> waiting;
};

using ordered_message = basic_ordered_message<>;

// The links by which `keyed_queues` chains messages.
template <class Atomics>
[[nodiscard]] typename basic_ordered_message<Atomics>::links& links_of(basic_ordered_message<Atomics>& message,
                                                                       match_policy policy) noexcept {
  return message.waiting[static_cast<std::size_t>(policy)];
}

/// The description that waits for a receive instead of `early`, an early message that was reserved (see
/// unexpected_sends.hpp). Called under the engine's lock.
[[nodiscard]] ordered_message& settle(ordered_message& early) noexcept;
template <class Atomics>
[[nodiscard]] basic_ordered_message<Atomics>& settle(basic_ordered_message<Atomics>& early) noexcept {
  return early;
}

/// What a call has done for others. Messages that were taken out, chained by `next`; matched ones each with its
/// receive, in the order of their matches. Without a receive: a message that was taken back, and one that takes back.
/// They belong to the caller.
template <class Atomics = detail::std_atomics>
struct basic_matched_messages {
  basic_ordered_message<Atomics>* first = nullptr;
  basic_ordered_message<Atomics>* last;  // set with `first`

  /// Whether there is nothing for the caller to do.
  [[nodiscard]] bool is_empty() const noexcept { return work_ == 0; }
  /// So many messages of `source()` were put in order, in full steps.
  [[nodiscard]] std::uint32_t in_order() const noexcept { return static_cast<std::uint32_t>(work_); }
  /// Whether the next early messages of `source()` have to be put in order by `continue_early`.
  [[nodiscard]] bool has_more() const noexcept { return (work_ & more) != 0; }
  [[nodiscard]] std::uint32_t source() const noexcept { return source_; }
  /// The engine, if `has_more()`.
  [[nodiscard]] std::uint32_t engine() const noexcept { return engine_; }

  void add_in_order(std::uint32_t source, std::uint32_t count) noexcept {
    work_ += count;
    source_ = source;
  }
  void add_more(std::uint32_t source, std::uint32_t engine) noexcept {
    work_ |= more;
    source_ = source;
    engine_ = engine;
  }
  void add(basic_ordered_message<Atomics>& message) noexcept {
    message.next = nullptr;
    (first != nullptr ? last->next : first) = &message;
    last = &message;
    work_ |= messages;
  }

 private:
  static constexpr std::uint64_t messages = std::uint64_t{1} << 32;
  static constexpr std::uint64_t more = std::uint64_t{1} << 33;

  std::uint64_t work_ = 0;  // `in_order`, and these bits: one store in each call, and one look
  std::uint32_t source_;
  std::uint32_t engine_;
};

using matched_messages = basic_matched_messages<>;

struct ordered_counts {
  std::size_t early = 0;
  std::size_t messages = 0;
  std::size_t receives = 0;
};

/// The state in which `fast_post` leaves a receive.
enum class fast_posted : std::uint8_t {
  inserted,         // all is done
  inserted_inside,  // it waits; the caller is inside the lock, where receives were left
  inside,           // the caller is inside the lock
  no,               // another thread holds the lock
};

/// Every function but `fast_post` has a list of messages, to which it adds the messages that were matched by receives
/// that other threads had left with the lock: the caller delivers them, whatever the answer is.
template <class Atomics = detail::std_atomics>
class basic_ordered_matching {
 public:
  using node = basic_match_node<Atomics>;
  using message_node = basic_ordered_message<Atomics>;
  using message_list = basic_matched_messages<Atomics>;

  /// Early messages that a call puts in order.
  static constexpr std::uint32_t early_max = 256;

  /// Messages come from ranks below `source_count`. `first_sequence`: the number of each source's first message.
  /// `step`: a power of two, of which `first_sequence` is a multiple. Throws std::bad_alloc.
  explicit basic_ordered_matching(std::uint32_t source_count, std::uint32_t first_sequence = 0, std::uint32_t step = 1)
      : sources_{source_count, first_sequence, step}, messages_(make_queues<message_node>()) {}
  basic_ordered_matching(const basic_ordered_matching&) = delete;
  basic_ordered_matching& operator=(const basic_ordered_matching&) = delete;

  /// The step in which it counts what it puts in order.
  [[nodiscard]] std::uint32_t step() const noexcept { return sources_.step(); }

  /// Called first for an arriving message: if it is next in order and a receive waits for it, it needs no node.
  /// `key`: source and tag, policy rank_tag.
  /// **Returns**: matched (`receive` belongs to the caller; `released` has early messages that were matched after it),
  /// none or early (the message has to wait, in its order or before: nothing happened, call `arrive`), refused (see
  /// `arrive`) or busy.
  [[nodiscard]] [[gnu::always_inline]] match_result try_match(const match_key& key, std::uint32_t sequence,
                                                              node*& receive, message_list& released) noexcept {
    const entered inside{*this, released};
    if (!inside) return match_result::busy;
    switch (delivery_of(key, sequence)) {
      case delivery::never: return match_result::refused;
      case delivery::later: return match_result::early;
      case delivery::now: break;
    }
    node* const found = receives_.take_oldest(key);
    if (found == nullptr) return match_result::none;
    receive = found;
    put_in_order(key, sequence + 1, released);
    return match_result::matched;
  }

  /// **Returns**: matched (`message` is the first in `released`), inserted (it waits; `released` may have messages that
  /// had waited for it), refused (its number came before, or its source is no rank of the job; it belongs to the
  /// caller) or busy.
  [[nodiscard]] match_result arrive(message_node& message, message_list& released) noexcept {
    const entered inside{*this, released};
    if (!inside) return match_result::busy;
    switch (delivery_of(message.key, message.sequence)) {
      case delivery::never: return match_result::refused;
      case delivery::later: return keep_early(message) ? match_result::inserted : match_result::refused;
      case delivery::now: break;
    }
    const match_key key = message.key;  // another description may wait instead of it
    const std::uint32_t sequence = message.sequence;
    if (is_early_next(key)) return match_result::refused;
    const bool is_matched = deliver(message, released);
    put_in_order(key, sequence + 1, released);
    return is_matched ? match_result::matched : match_result::inserted;
  }

  /// Puts the next early messages of a source in order, after a call whose `released` has said that there are more.
  /// `key`: engine and rank. **Returns**: none or busy.
  [[nodiscard]] match_result continue_early(const match_key& key, message_list& released) noexcept {
    const entered inside{*this, released};
    if (!inside) return match_result::busy;
    deliver_early(sources_.source_of(key.rank()), key.engine(), released);
    return match_result::none;
  }

  /// Takes out the oldest message that matches `receive`; if there is none, `receive` waits. The policy of its key says
  /// what is compared. **Returns**: matched (`found` belongs to the caller), inserted or busy.
  [[nodiscard]] match_result post(node& receive, message_node*& found, message_list& released) noexcept {
    const entered inside{*this, released};
    return inside ? result_of(found = post_inside(receive)) : match_result::busy;
  }

  /// Posts, and is never busy: if another thread holds the lock, `receive` is left with it (inserted).
  [[nodiscard]] match_result post_or_leave(node& receive, message_node*& found, message_list& released) noexcept {
    if (!lock_.enter_or_leave_behind(receive)) return match_result::inserted;
    found = post_inside(receive);
    leave(released);
    return result_of(found);
  }

  /// The first step of a post that calls no function. Inserts a receive with the policy rank_tag if the lock is free
  /// and no message waits; `is_open`: one that leaves rank or tag open, if no other such one waits, either. Unless the
  /// answer is `inserted`, the caller must call `post_rest` next.
  [[nodiscard]] [[gnu::always_inline]] fast_posted fast_post(node& receive, bool is_open = false) noexcept {
    if (!lock_.try_enter()) [[unlikely]]
      return fast_posted::no;
    if (!messages_[index_of(match_policy::rank_tag)].is_empty() ||
        !(is_open ? receives_.try_append_open(receive) : receives_.try_append_named(receive))) [[unlikely]]
      return fast_posted::inside;
    return lock_.try_leave() ? fast_posted::inserted : fast_posted::inserted_inside;
  }
  /// The rest. **Returns**: as `post`.
  [[nodiscard]] match_result post_rest(fast_posted reached, node& receive, message_node*& found,
                                       message_list& released) noexcept {
    if (reached == fast_posted::no) return post(receive, found, released);
    message_node* const matched = reached == fast_posted::inside ? post_inside(receive) : nullptr;
    leave(released);
    found = matched;
    return result_of(matched);
  }

  /// Takes out the oldest message that matches `pattern` (a matched probe).
  /// **Returns**: matched (`found` belongs to the caller), none or busy.
  [[nodiscard]] match_result take(const match_key& pattern, message_node*& found, message_list& released) noexcept {
    WEFT_ASSERT_CHECKED(pattern.policy() <= match_policy::none);
    const entered inside{*this, released};
    if (!inside) return match_result::busy;
    message_node* oldest = messages_[index_of(pattern.policy())].oldest(pattern);
    if (oldest == nullptr) return match_result::none;
    take_out(*oldest);
    found = oldest;
    return match_result::matched;
  }

  /// Calls `visit(const message_node&)`, under the lock, with the oldest message that matches `pattern`, which stays.
  /// **Returns**: matched (it was called), none or busy.
  template <class Visit>
  [[nodiscard]] match_result peek(const match_key& pattern, const Visit& visit, message_list& released) noexcept {
    WEFT_ASSERT_CHECKED(pattern.policy() <= match_policy::none);
    const entered inside{*this, released};
    if (!inside) return match_result::busy;
    const message_node* const oldest = messages_[index_of(pattern.policy())].oldest(pattern);
    if (oldest == nullptr) return match_result::none;
    visit(*oldest);
    return match_result::matched;
  }

  /// Takes a message that takes back the message `name` of its source. It has a number as all messages have, so the
  /// other one has arrived before it, whichever way each has come. Cost: a look at each waiting message of the source.
  /// **Returns**: removed (it was next in order; `found` belongs to the caller, and is null if a receive had matched
  /// it; `released` as for `try_match`), early (it has to wait: nothing happened, call `arrive`), refused or busy.
  [[nodiscard]] match_result try_take_back(const match_key& key, std::uint32_t sequence, std::uint64_t name,
                                           message_node*& found, message_list& released) noexcept {
    const entered inside{*this, released};
    if (!inside) return match_result::busy;
    switch (delivery_of(key, sequence)) {
      case delivery::never: return match_result::refused;
      case delivery::later: return match_result::early;
      case delivery::now: break;
    }
    if (is_early_next(key)) return match_result::refused;
    found = take_named(key, name);
    put_in_order(key, sequence + 1, released);
    return match_result::removed;
  }

  /// Takes out the waiting message `name` of rank `from`. **Returns**: removed (`found` belongs to the caller), none (a
  /// receive has matched it, or it is early, or was never here) or busy. Cost: as of `try_take_back`.
  [[nodiscard]] match_result take_by_name(std::uint32_t engine, std::uint32_t from, std::uint64_t name,
                                          message_node*& found, message_list& released) noexcept {
    const entered inside{*this, released};
    if (!inside) return match_result::busy;
    found = name == 0 ? nullptr : take_named(make_match_key(engine, match_policy::rank_tag, from, 0), name);
    return found != nullptr ? match_result::removed : match_result::none;
  }

  /// Takes a posted receive out. `is_meant(node&)` as for `basic_matching_table::remove`.
  /// **Returns**: removed (it belongs to the caller), none (it was matched) or busy.
  template <class IsMeant>
  [[nodiscard]] match_result remove(node& receive, IsMeant&& is_meant, message_list& released) noexcept {
    const entered inside{*this, released};
    if (!inside) return match_result::busy;
    if (!receives_.has(receive) || !is_meant(receive)) return match_result::none;
    receives_.remove(receive);
    return match_result::removed;
  }
  [[nodiscard]] match_result remove(node& receive, message_list& released) noexcept {
    return remove(
        receive, [](const node&) { return true; }, released);
  }

  /// Takes out all waiting nodes, for an engine that ends: messages in their order of arrival, then early messages in
  /// no order, and receives chained by `behind`, in no order. Calls `uncounted(rank, count)` with the messages of each
  /// source that were put in order or taken out here, and that no call has counted.
  /// **Returns**: removed or busy.
  template <class Uncounted>
  [[nodiscard]] match_result take_all(message_list& messages, node*& receives, const Uncounted& uncounted) noexcept {
    const entered inside{*this, messages};
    if (!inside) return match_result::busy;
    for (std::uint32_t rank = 0; rank < sources_.count(); ++rank) {
      const std::uint32_t count = sources_.within_step(rank) + sources_.source_of(rank).early_count;
      if (count != 0) uncounted(rank, count);
    }
    messages_[index_of(match_policy::none)].take_all([&](message_node& message) {
      for (std::size_t policy = 0; policy < index_of(match_policy::none); ++policy) messages_[policy].remove(message);
      messages.add(message);
    });
    sources_.set_early(false);
    early_.take_all([&](message_node& message) {
      --sources_.source_of(message.key.rank()).early_count;
      messages.add(message);
    });
    receives_.take_all([&](node& receive) {
      receive.behind.set(receives);
      receives = &receive;
    });
    return match_result::removed;
  }

  /// Calls `receive(const node&)` for each posted receive and `message(const message_node&)` for each message that
  /// waits for one, under the lock. For reports. False: busy.
  template <class Receive, class Message>
  [[nodiscard]] bool try_each(const Receive& receive, const Message& message, message_list& released) {
    const entered inside{*this, released};
    if (!inside) return false;
    receives_.each(receive);
    messages_[index_of(match_policy::none)].each(message);
    return true;
  }

  /// The most keys that a look passes in one of the tables. Visits all of them, under the lock. False: busy.
  [[nodiscard]] bool try_measure(std::size_t& longest_chain, message_list& released) noexcept {
    const entered inside{*this, released};
    if (!inside) return false;
    longest_chain = receives_.longest_chain();
    for (const auto& each : messages_) longest_chain = std::max(longest_chain, each.longest_chain());
    longest_chain = std::max(longest_chain, early_.longest_chain());
    return true;
  }

  /// False: busy.
  [[nodiscard]] bool try_count(ordered_counts& out, message_list& released) noexcept {
    const entered inside{*this, released};
    if (!inside) return false;
    out = {.early = early_.size(), .messages = messages_[0].size(), .receives = receives_.size()};
    return true;
  }

 private:
  using source = ordered_sources::source;
  using delivery = ordered_sources::delivery;

  class entered {
   public:
    [[gnu::always_inline]] entered(basic_ordered_matching& matching, message_list& released) noexcept
        : matching_{matching}, released_{released}, is_inside_{matching.lock_.try_enter()} {}
    [[gnu::always_inline]] ~entered() {
      if (is_inside_) matching_.leave(released_);
    }
    entered(const entered&) = delete;
    entered& operator=(const entered&) = delete;
    explicit operator bool() const noexcept { return is_inside_; }

   private:
    basic_ordered_matching& matching_;
    message_list& released_;
    bool is_inside_;
  };

  [[gnu::always_inline]] void leave(message_list& released) noexcept {
    if (!lock_.try_leave()) [[unlikely]]
      post_left_and_leave(released);
  }
  [[gnu::noinline]] void post_left_and_leave(message_list& released) noexcept {
    do {
      for (node* each = lock_.take_left(); each != nullptr;) {
        node& receive = *each;
        each = receive.behind.get();
        if (message_node* const found = post_inside(receive); found != nullptr) released.add(*found);
      }
    } while (!lock_.try_leave());
  }

  static match_result result_of(const message_node* found) noexcept {
    return found != nullptr ? match_result::matched : match_result::inserted;
  }

  // The message that `receive` matches, each with the other; null: the receive waits.
  message_node* post_inside(node& receive) noexcept {
    WEFT_ASSERT_CHECKED(receive.key.policy() <= match_policy::none);
    const std::size_t policy = index_of(receive.key.policy());
    if (message_node* oldest = messages_[policy].oldest(receive.key); oldest != nullptr) {
      take_out(*oldest);
      oldest->receive = &receive;
      return oldest;
    }
    receives_.append(receive);
    return nullptr;
  }

  delivery delivery_of(const match_key& key, std::uint32_t sequence) const noexcept {
    return sources_.delivery_of(key.rank(), sequence);
  }

  void take_out(message_node& message) noexcept {
    for (auto& each : messages_) each.remove(message);
  }

  // The waiting message of the key's source with this name, which waits no more; or null.
  message_node* take_named(const match_key& key, std::uint64_t name) noexcept {
    constexpr match_policy policy = match_policy::rank_only;
    message_node* each = messages_[index_of(policy)].oldest(make_match_key(key.engine(), policy, key.rank(), 0));
    while (each != nullptr && each->name != name) each = links_of(*each, policy).behind.get();
    if (each != nullptr) take_out(*each);
    return each;
  }

  // True: it does not wait.
  bool deliver(message_node& message, message_list& released) noexcept {
    if (message.takes_back) {
      message.receive = nullptr;
      if (message_node* const found = take_named(message.key, message.name); found != nullptr) released.add(*found);
      released.add(message);
      return true;
    }
    message.receive = receives_.take_oldest(message.key);
    if (message.receive == nullptr) {
      message_node& waiting = message.is_reserved ? settle(message) : message;
      for (auto& each : messages_) each.append(waiting);
      return false;
    }
    released.add(message);
    return true;
  }

  // All messages of the source before the number `next` are in order.
  [[gnu::always_inline]] void put_in_order(const match_key& key, std::uint32_t next, message_list& released) noexcept {
    source& from = sources_.source_of(key.rank());
    if (!sources_.advance(from, next)) [[unlikely]]
      end_step(from, key.engine(), released);
  }
  // Kept in registers: a reference to the key would store it in each call of `try_match`.
  [[gnu::noinline]] void end_step(source& from, std::uint32_t engine, message_list& released) noexcept {
    count_step(from, released);
    if (from.early_count != 0) deliver_early(from, engine, released);
  }
  void count_step(const source& from, message_list& released) noexcept {
    if (sources_.has_ended_step(from)) released.add_in_order(sources_.rank_of(from), sources_.step());
  }

  // Whether the next message of the key's source has arrived, and was not put in order yet.
  bool is_early_next(const match_key& key) noexcept {
    const source& from = sources_.source_of(key.rank());
    return from.early_count != 0 && early_.has(key.rank(), from.next_sequence);
  }

  void deliver_early(source& from, std::uint32_t engine, message_list& released) noexcept {
    const std::uint32_t rank = sources_.rank_of(from);
    for (std::uint32_t count = 0; from.early_count != 0; ++count) {
      if (count == early_max) {
        if (early_.has(rank, from.next_sequence)) released.add_more(rank, engine);
        return;
      }
      message_node* next = early_.take(rank, from.next_sequence);
      if (next == nullptr) return;
      --from.early_count;
      if (early_.size() == 0) sources_.set_early(false);
      deliver(*next, released);
      ++from.next_sequence;
      count_step(from, released);
    }
  }

  // False: a message with this number already waits.
  bool keep_early(message_node& message) noexcept {
    if (!early_.keep(message)) return false;
    ++sources_.source_of(message.key.rank()).early_count;
    sources_.set_early(true);
    return true;
  }

  basic_handover_lock<node, Atomics> lock_;
  ordered_sources sources_;
  out_of_sequence_messages<message_node> early_;
  basic_posted_receives<Atomics> receives_;
  std::array<keyed_queues<message_node>, ordered_policy_count> messages_;
};

using ordered_matching = basic_ordered_matching<>;

}  // namespace weft::core
