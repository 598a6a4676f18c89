// SPDX-License-Identifier: BSD-3-Clause
// Credits for numbered messages. A rank promises each sender descriptions for so many messages of all ordered engines
// together, and a sender sends a numbered message only with a credit. A credit returns when its message has been put in
// order. So the message that all later ones wait for always finds a description, and so do messages that arrive before
// it: none of them holds up its ring.
//
// Both sides count: a sender the credits that it has taken, a receiver the messages that it has put in order. The
// receiver's count travels in notices; a later notice says all that earlier ones have said. A notice goes to one device
// of the sender, which may not be polled. So a device that has no credit asks for a notice of its own: it gets one at
// once if there is news, else with the next notice that is due.
//
// Credits that no one uses are bounded, so the others suffice for each sender to continue. Of `each` credits, engines
// of the sender keep at most half for their next numbers: beyond it they take one at a time. Engines of the receiver
// count in steps, and keep at most a quarter until their step is full. A notice is due when a quarter has returned.
//
// Cost: nothing for most messages; an addition for each step, a notice for each quarter. Progress: lock-free. Callers:
// any thread. Linearization: the exchanges and additions. Counts wrap around; they are compared by their difference,
// which is at most twice `each` for ranks without faults. Model test: tests/model/order_credits_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "weft/detail/atomics.hpp"

namespace weft::core {

/// The credits that each rank of a job with so many ranks has at each other one. All ranks compute the same.
[[nodiscard]] constexpr std::uint32_t order_credits_of(std::uint32_t ranks) noexcept {
  return std::clamp((1U << 18) / std::max(ranks, 1U), 64U, 2048U);
}

/// The step in which an engine counts the messages that it puts in order; a power of two.
[[nodiscard]] constexpr std::uint32_t order_step_of(std::uint32_t ranks) noexcept {
  std::uint32_t step = 1;
  while (step * 2 <= order_credits_of(ranks) / 32) step *= 2;
  return step;
}
/// How many engines of a rank may count in steps; others count each message.
inline constexpr std::uint32_t order_steps_max = 8;

/// The number of a source's first message: a multiple of each step, and not zero, which unnumbered messages have.
inline constexpr std::uint32_t first_order_number = 64;

template <class Atomics = detail::std_atomics>
class basic_order_credits {
 public:
  /// `each`: the credits of a sender at a receiver, at least 1. Throws std::bad_alloc.
  basic_order_credits(std::uint32_t ranks, std::uint32_t each, std::uint32_t first_count = 0)
      : each_{each}, of_rank_{std::make_unique<of_rank[]>(ranks)} {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      of_rank& rank_credits = of_rank_[rank];
      rank_credits.sender.store(std::uint64_t{first_count} << 32 | first_count,
                                std::memory_order_relaxed);                 // [own] still
      rank_credits.in_order.store(first_count, std::memory_order_relaxed);  // [own] still
      rank_credits.told.store(first_count, std::memory_order_relaxed);      // [own] still
    }
  }

  [[nodiscard]] std::uint32_t each() const noexcept { return each_; }

  // The sender's side.

  /// Takes up to `wanted` credits at `target`, and more while it has plenty of them. Returns how many.
  [[nodiscard]] std::uint32_t take(std::uint32_t target, std::uint32_t wanted) noexcept {
    word& word_of_rank = of_rank_[target].sender;
    // [credits.look] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = word_of_rank.load(std::memory_order_relaxed);
    std::uint32_t count = 0;
    do {
      const std::int64_t free = static_cast<std::int64_t>(each_) - outstanding_in(seen);
      if (free <= 0) return 0;
      const std::int64_t spare = std::max<std::int64_t>(free - wanted - each_ / 2, 0) / 4;
      count = static_cast<std::uint32_t>(std::min<std::int64_t>(free, wanted + spare));
      // [credits.take] relaxed: the word's values are one order, and carry nothing else.
    } while (
        !word_of_rank.compare_exchange_weak(seen, with_taken(seen, taken_in(seen) + count), std::memory_order_relaxed));
    return count;
  }
  /// Credits at `target` that were taken, and not used for numbers; or, where `count` is negative, used for numbers and
  /// not taken.
  void put_back(std::uint32_t target, std::int32_t count) noexcept {
    word& word_of_rank = of_rank_[target].sender;
    // [credits.look] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = word_of_rank.load(std::memory_order_relaxed);
    std::uint64_t after = 0;
    do {
      after = with_taken(seen, taken_in(seen) - static_cast<std::uint32_t>(count));
      // [credits.put_back] relaxed: as [credits.take].
    } while (!word_of_rank.compare_exchange_weak(seen, after, std::memory_order_relaxed));
  }
  /// A notice of `peer`, for this rank's device `device`: the peer has put so many messages in order. An old notice
  /// gives no credits. False: more than were ever sent, so the notice is false.
  [[nodiscard]] bool on_notice(std::uint32_t peer, std::uint32_t device, std::uint32_t in_order) noexcept {
    word& word_of_rank = of_rank_[peer].sender;
    // [credits.asked] relaxed: a request that is missed is sent once more.
    of_rank_[peer].asked.fetch_and(~bit_of(device), std::memory_order_relaxed);
    // [credits.look] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = word_of_rank.load(std::memory_order_relaxed);
    do {
      if (static_cast<std::int32_t>(taken_in(seen) - in_order) < 0) return false;
      if (static_cast<std::int32_t>(in_order - returned_in(seen)) <= 0) return true;
      // [credits.notice] relaxed: as [credits.take].
    } while (!word_of_rank.compare_exchange_weak(seen, std::uint64_t{in_order} << 32 | taken_in(seen),
                                                 std::memory_order_relaxed));
    return true;
  }
  /// Whether `device` has to ask `target` for a notice, with the count `known`: it has not asked since its last notice.
  /// If the request can't be sent, call `unask`.
  [[nodiscard]] bool must_ask(std::uint32_t target, std::uint32_t device, std::uint32_t& known) noexcept {
    // [credits.asked] relaxed: a request that is missed is sent once more.
    if ((of_rank_[target].asked.fetch_or(bit_of(device), std::memory_order_relaxed) & bit_of(device)) != 0)
      return false;
    // [credits.count] relaxed: a number and nothing else.
    known = returned_in(of_rank_[target].sender.load(std::memory_order_relaxed));
    return true;
  }
  void unask(std::uint32_t target, std::uint32_t device) noexcept {
    // [credits.asked] relaxed: a request that is missed is sent once more.
    of_rank_[target].asked.fetch_and(~bit_of(device), std::memory_order_relaxed);
  }
  /// Whether a device has asked `target` for a notice, which has not come.
  [[nodiscard]] bool has_asked(std::uint32_t target) const noexcept {
    // [credits.asked] relaxed: for reports.
    return of_rank_[target].asked.load(std::memory_order_relaxed) != 0;
  }
  /// Whether so few are left that engines keep none for later.
  [[nodiscard]] bool is_scarce(std::uint32_t target) const noexcept {
    return outstanding(target) > static_cast<std::int32_t>(each_ / 2);
  }
  /// Credits at `target` that are taken, and have not returned.
  [[nodiscard]] std::int32_t outstanding(std::uint32_t target) const noexcept {
    // [credits.count] relaxed: a number and nothing else.
    return outstanding_in(of_rank_[target].sender.load(std::memory_order_relaxed));
  }

  // The receiver's side.

  /// So many more messages of `source` were put in order. **Returns** whether a notice is due.
  [[nodiscard]] bool put_in_order(std::uint32_t source, std::uint32_t count) noexcept {
    of_rank& rank_credits = of_rank_[source];
    // [credits.in_order] acq_rel -> [credits.wait]: of this thread and one that handles a request, the second sees what
    // the first has done: the count, or the device that waits.
    const std::uint32_t after = rank_credits.in_order.fetch_add(count, std::memory_order_acq_rel) + count;
    return is_due(after, rank_credits.told.load(std::memory_order_relaxed));  // [hint] `next_notice` looks again
  }
  /// A message of `source` that was counted before it was put in order is about to be.
  void count_later(std::uint32_t source) noexcept {
    // [credits.later] relaxed: no device waits for less.
    of_rank_[source].in_order.fetch_sub(1, std::memory_order_relaxed);
  }
  /// The source's device `device` asks for a notice, and knows the count `known`. **Returns** whether a notice is due.
  [[nodiscard]] bool wait_for_notice(std::uint32_t source, std::uint32_t device, std::uint32_t known) noexcept {
    of_rank& rank_credits = of_rank_[source];
    // [credits.waiting] relaxed: published by the next line.
    rank_credits.waiting.fetch_or(bit_of(device), std::memory_order_relaxed);
    // [credits.wait] acq_rel <- [credits.in_order]: an addition of nothing, so that the two are in one order.
    const std::uint32_t in_order = rank_credits.in_order.fetch_add(0, std::memory_order_acq_rel);
    if (static_cast<std::int32_t>(in_order - known) <= 0) return false;
    owe_to_waiting(rank_credits);
    return true;
  }
  /// What the notice that is due to `source` has to say, and its devices that it goes to, by bits; 0: to any one of
  /// them. **Returns** whether one is due. Call `note_sent`, and `owe` for devices that it was not sent to.
  [[nodiscard]] bool next_notice(std::uint32_t source, std::uint32_t& in_order, std::uint64_t& devices) noexcept {
    of_rank& rank_credits = of_rank_[source];
    // [credits.in_order_read] relaxed: what made a notice due came before, in this thread or by [rest.notices].
    in_order = rank_credits.in_order.load(std::memory_order_relaxed);
    const bool is_news =
        is_due(in_order, rank_credits.told.load(std::memory_order_relaxed));  // [hint] two notices do no harm
    if (is_news) owe_to_waiting(rank_credits);
    // [credits.owed] relaxed: a set of devices and nothing else.
    devices = rank_credits.owed.exchange(0, std::memory_order_relaxed);
    return is_news || devices != 0;
  }
  [[nodiscard]] bool has_notice(std::uint32_t source) const noexcept {
    const of_rank& rank_credits = of_rank_[source];
    const std::uint32_t in_order = rank_credits.in_order.load(std::memory_order_relaxed);  // [hint] for a later call
    return rank_credits.owed.load(std::memory_order_relaxed) != 0 ||                       // [hint] for a later call
           is_due(in_order, rank_credits.told.load(std::memory_order_relaxed));            // [hint] for a later call
  }
  void owe(std::uint32_t source, std::uint64_t devices) noexcept {
    // [credits.owed] relaxed: a set of devices and nothing else.
    of_rank_[source].owed.fetch_or(devices, std::memory_order_relaxed);
  }
  /// The notice was sent.
  void note_sent(std::uint32_t source, std::uint32_t in_order) noexcept {
    auto& told = of_rank_[source].told;
    std::uint32_t before = told.load(std::memory_order_relaxed);  // [hint]
    // [credits.told] relaxed: a number and nothing else; it only grows.
    while (static_cast<std::int32_t>(in_order - before) > 0 &&
           !told.compare_exchange_weak(before, in_order, std::memory_order_relaxed)) {
    }
  }

 private:
  using word = typename Atomics::template atomic<std::uint64_t>;
  using count_word = typename Atomics::template atomic<std::uint32_t>;

  struct of_rank {
    word sender{0};  // how many have returned, in the upper half, and how many were taken; both wrap around
    word asked{0};   // this rank's devices that wait for a notice
    count_word in_order{0};
    count_word told{0};  // count of the last notice
    word waiting{0};     // the source's devices that get the next notice that is due
    word owed{0};        // devices that get a notice now
  };

  [[nodiscard]] static constexpr std::uint64_t bit_of(std::uint32_t device) noexcept {
    return std::uint64_t{1} << (device % 64);
  }
  static void owe_to_waiting(of_rank& rank_credits) noexcept {
    // [credits.waiting] relaxed: published by [credits.wait].
    const std::uint64_t devices = rank_credits.waiting.exchange(0, std::memory_order_relaxed);
    // [credits.owed] relaxed: a set of devices and nothing else.
    if (devices != 0) rank_credits.owed.fetch_or(devices, std::memory_order_relaxed);
  }

  [[nodiscard]] static constexpr std::uint32_t taken_in(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
  }
  [[nodiscard]] static constexpr std::uint32_t returned_in(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  [[nodiscard]] static constexpr std::uint64_t with_taken(std::uint64_t word, std::uint32_t taken) noexcept {
    return word >> 32 << 32 | taken;
  }
  [[nodiscard]] static constexpr std::int32_t outstanding_in(std::uint64_t word) noexcept {
    return static_cast<std::int32_t>(taken_in(word) - returned_in(word));
  }
  [[nodiscard]] bool is_due(std::uint32_t in_order, std::uint32_t told) const noexcept {
    return static_cast<std::int32_t>(in_order - told) >= static_cast<std::int32_t>(std::max(each_ / 4, 1U));
  }

  std::uint32_t each_;
  std::unique_ptr<of_rank[]> of_rank_;
};

using order_credits = basic_order_credits<>;

}  // namespace weft::core
