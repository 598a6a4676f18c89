// SPDX-License-Identifier: BSD-3-Clause
// How the bytes of a long message travel: the receiver of an RTS with an address chooses, for each peer and size class,
// by what messages of that class have shown.
//
// No rule is right for all machines: between near cores packets may be twice as fast as a copy by the system, and
// between far ones half as fast; two sides that copy in short pieces disturb each other on one host, and double the
// speed on another. The neighbours of a virtual machine change it from one minute to the next.
//
// *Trials.* Messages are counted in trials of some messages each, all by one method. The time of a message is that from
// the end of the message before it, or from its own RTS if that is later: so the times of a trial add up to the time in
// which at least one message was under way, in whatever order they end, and the pauses of a program do not count. A
// trial gives one sample, its time for a MiB. A message that was under way together with one by another method does not
// count. Where messages are under way together, a trial has as many more messages: their ends come in bursts.
//
// *What decides.* First each method has `samples_min` trials, in turns, so that a first message into cold memory spoils
// one of several; one that is twice as slow as the best has fewer. From then on the method with the lowest median is
// the *settled* one. After that one message of a hundred explores: once there is credit for a trial, another method has
// one. The settled method adds a sample before each, so that samples of one time are compared; a median of the last
// five decides, and a method has to be 1/16 better. If three trials of the settled method in a row are half as slow
// again as its median, they replace its samples: so a peer that begins to compute while packets are awaited, or to
// share a core, costs some messages and not some hundred. A trial whose time is spent eight times over ends with the
// message that did it. A method that is several times slower is explored as much more rarely, so that exploring costs a
// hundredth of the time; it is never given up.
//
// **Threads**: any. Devices of a rank may receive from one peer at a time. A thread that does not get the lock takes
// the settled method and records nothing. What is recorded is a hint: a lost or a wrong sample costs speed alone.
//
// Cost: two locks that no thread waits for and two reads of a cycle counter for a long message, some 25 ns. Memory: 1.9
// KiB for a peer that has sent a long message (runtime/copy_choices.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/message/copy_trial.hpp"

namespace weft::core {

/// A way for the bytes of a long message, once the receiver knows the sender's address.
enum class copy_method : std::uint8_t {
  packets,     // the sender copies them into packets when the receiver asks for them (RTR)
  one_side,    // the receiver copies them from the sender's memory
  both_short,  // both sides copy, in short pieces
  both_long,   // copied by both in longer pieces
};
inline constexpr std::size_t copy_methods = 4;

/// A set of methods, a bit each.
using copy_method_set = std::uint8_t;
[[nodiscard]] constexpr copy_method_set set_of(copy_method method) noexcept {
  return static_cast<copy_method_set>(1U << static_cast<unsigned>(method));
}

/// The choice for a message: kept in its operation until the end of the message.
struct chosen_copy {
  std::uint8_t number = 0;  // number of the message in its class
  copy_method method = copy_method::one_side;
  std::uint8_t asked_pages = 0;  // that a side copies at a time where both copy; 0: by the size of the message
};

/// The choice for messages of one peer and size class. **Threads**: one at a time.
class class_choice {
 public:
  static constexpr std::size_t samples_min = 3;
  /// One message in so many explores.
  static constexpr std::int32_t explored_one_in = 100;

  /// The methods to choose from; at least one. The first trial is of `first`.
  void begin_with(copy_method_set allowed, copy_method first, unsigned messages) noexcept {
    allowed_ = allowed;
    settled_ = method_ = first;
    trial_messages_ = static_cast<std::uint16_t>(messages);
    wanted_ = static_cast<std::int32_t>(2 * messages);
  }

  /// The method that most messages travel by.
  [[nodiscard]] copy_method settled() const noexcept { return settled_; }
  [[nodiscard]] bool is_learning() const noexcept { return is_learning_; }
  [[nodiscard]] copy_method_set allowed() const noexcept { return allowed_; }
  /// The median of the last samples: time for a MiB; 0: there is none.
  [[nodiscard]] std::uint32_t score(copy_method method) const noexcept { return list(method).score(); }

  /// A message begins.
  [[nodiscard]] chosen_copy begin() noexcept {
    if (method_ != settled_ && !is_learning_) {
      // The trial has to end, with what it has, before the hundredth is spent.
      if (credit_ < explored_one_in)
        end_early();
      else
        credit_ -= explored_one_in;
    }
    if (method_ == settled_ && !is_learning_) credit_ = std::min(credit_ + 1, credit_max);
    if (trial_.begun() == begun_max) next_trial();
    trial_.begin();
    return {.number = ++number_, .method = method_};
  }

  /// A message has ended. True: another method is the settled one from here on, or the first one is found.
  bool end(const chosen_copy& chosen, const measured_copy& shown) noexcept {
    if (chosen.method != method_) {
      mixed_until_ = shown.ended;
      return false;
    }
    trial_.see_together(static_cast<std::uint8_t>(number_ - chosen.number));
    if (!shown.counts || shown.begun <= mixed_until_) return false;
    trial_.count(shown);
    if (trial_.counted() < needed() && !is_spent(shown.bytes)) return false;
    return close();
  }

 private:
  static constexpr std::uint16_t begun_max = 8192;
  static constexpr std::int32_t wanted_max = 4096;
  static constexpr std::int32_t credit_max = 2 * wanted_max * explored_one_in;
  static constexpr unsigned spent_times = 8;
  static constexpr std::uint8_t slow_trials_max = 3;

  [[nodiscard]] const copy_samples& list(copy_method method) const noexcept {
    return samples_[static_cast<std::size_t>(method)];
  }
  [[nodiscard]] copy_samples& list(copy_method method) noexcept { return samples_[static_cast<std::size_t>(method)]; }

  [[nodiscard]] unsigned needed() const noexcept { return trial_.needed(trial_messages_); }
  // Whether the trial has taken several times what it should take in all.
  [[nodiscard]] bool is_spent(std::uint64_t bytes) const noexcept {
    const std::uint64_t usual = score(method_);
    return usual != 0 && trial_.counted() > 1 &&
           trial_.time() > std::uint64_t{spent_times} * needed() * (usual * (bytes >> 10) >> 10);
  }

  // The trial ends with a sample.
  bool close() noexcept {
    const std::uint32_t value = trial_.sample();
    bool has_changed = false;
    if (is_learning_) {
      list(method_).add(value);
      is_learning_ = needs_sample(least_sampled());
      if (!is_learning_) {
        settled_ = best();
        has_changed = true;
      }
    } else if (method_ == settled_) {
      has_changed = close_settled(value);
    } else {
      list(method_).add(value);
      wanted_ = std::clamp<std::int32_t>(trial_.begun(), 2 * trial_messages_, wanted_max);
      // What it has cost beyond its hundredth is saved first.
      const std::uint32_t usual = std::max<std::uint32_t>(score(settled_), 1);
      credit_ -= static_cast<std::int32_t>(std::clamp<std::uint64_t>(value / usual, 1, 64) - 1) * trial_.begun() *
                 explored_one_in;
      has_changed = settle();
    }
    next_trial();
    return has_changed;
  }

  bool close_settled(std::uint32_t value) noexcept {
    const std::uint64_t usual = score(settled_);
    if (2 * std::uint64_t{value} > 3 * usual) {
      slow_[slow_count_++] = value;
      if (slow_count_ < slow_trials_max) return false;
      copy_samples& mine = list(settled_);
      mine = {};
      for (const std::uint32_t slow : slow_) mine.add(slow);
      slow_count_ = 0;
      return settle();
    }
    slow_count_ = 0;
    if (credit_ < wanted_ * explored_one_in) return false;
    list(settled_).add(value);  // another method is tried next
    explores_next_ = true;
    return settle();
  }

  // Whether another method is better than the settled one, and takes its place.
  bool settle() noexcept {
    const copy_method candidate = best();
    if (candidate == settled_ || std::uint64_t{score(candidate)} * 16 > std::uint64_t{score(settled_)} * 15)
      return false;
    settled_ = candidate;
    slow_count_ = 0;
    return true;
  }

  // The credit is spent before all messages have ended that the trial needs.
  void end_early() noexcept {
    if (trial_.counted() >= std::max<unsigned>(trial_messages_, needed() / 2)) {
      static_cast<void>(close());
      return;
    }
    wanted_ = std::min(2 * wanted_, wanted_max);
    next_trial();
  }

  void next_trial() noexcept {
    method_ = settled_;
    if (is_learning_) {
      method_ = least_sampled();
    } else if (explores_next_) {
      method_ = next_to_explore();
    }
    explores_next_ = false;
    trial_ = {};
  }

  template <class Visit>
  void each_allowed(const Visit& visit) const noexcept {
    for (std::size_t i = 0; i < copy_methods; ++i) {
      const auto method = static_cast<copy_method>(i);
      if ((allowed_ & set_of(method)) != 0) visit(method);
    }
  }
  // While the choice is learned: a method that has been twice as slow as the best one is left to exploring.
  [[nodiscard]] bool needs_sample(copy_method method) const noexcept {
    const copy_samples& its = list(method);
    return its.count() == 0 || (its.count() < samples_min && its.score() / 2 <= list(best()).score());
  }
  // The method with the fewest samples of those in need of one.
  [[nodiscard]] copy_method least_sampled() const noexcept {
    copy_method out = settled_;
    each_allowed([&](copy_method each) {
      if (!needs_sample(each)) return;
      if (!needs_sample(out) || list(each).count() < list(out).count()) out = each;
    });
    return out;
  }
  [[nodiscard]] copy_method best() const noexcept {
    copy_method out = settled_;
    each_allowed([&](copy_method each) {
      if (list(each).count() != 0 && (list(out).count() == 0 || score(each) < score(out))) out = each;
    });
    return out;
  }
  [[nodiscard]] copy_method next_to_explore() noexcept {
    do {
      explored_ = static_cast<std::uint8_t>((explored_ + 1U) % copy_methods);
    } while (allowed_ != set_of(settled_) && (static_cast<copy_method>(explored_) == settled_ ||
                                              (allowed_ & set_of(static_cast<copy_method>(explored_))) == 0));
    return allowed_ == set_of(settled_) ? settled_ : static_cast<copy_method>(explored_);
  }

  std::array<copy_samples, copy_methods> samples_{};
  copy_trial trial_;
  std::array<std::uint32_t, slow_trials_max> slow_{};  // trials of the settled method in a row
  std::uint64_t mixed_until_ = 0;                      // messages that began earlier do not count
  std::int32_t credit_ = 0;                            // `explored_one_in` for each message that may explore
  std::int32_t wanted_ = 0;                            // messages that a trial which explores needs
  std::uint16_t trial_messages_ = 0;                   // messages of a trial in which each is alone
  std::uint8_t number_ = 0;  // messages that have begun, for the count of those under way: 256 at most
  copy_method_set allowed_ = 0;
  copy_method settled_ = copy_method::one_side;
  copy_method method_ = copy_method::one_side;  // method of this trial
  std::uint8_t explored_ = 0;                   // the last one
  std::uint8_t slow_count_ = 0;
  bool is_learning_ = true;
  bool explores_next_ = false;
};

}  // namespace weft::core
