// SPDX-License-Identifier: BSD-3-Clause
// The buckets of the matching table. Their number doubles while much waits; no node moves then, and no thread waits.
//
// The buckets lie one after the other in memory that grows where it lies. When their number has doubled, the new ones
// are empty: bucket i + n is split off from bucket i, by the first thread that wants a key of either, and in passing a
// few with each insertion into a full bucket. So a call splits a few buckets at most. Only when all are split, their
// number may double again. If there is no memory, the number stays as it is: more keys are spilled, which costs time.
//
// Cost of entering and leaving a bucket: an exchange and a store on its line; a read of a line that is written only
// when the number doubles. Progress: a thread that finds a bucket locked looks a bounded number of times. Callers: any
// thread may call any function; construction and destruction are alone. Linearization: a bucket says under its lock
// which keys it has (`size`), so a thread that has read an old number of buckets notices it there. A thread that holds
// a bucket locks another one only to split one off, the one with the higher index first, and waits for the other one no
// longer than for any bucket. Model test: tests/model/matching_growth_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/assertion.hpp"
#include "base/reserved_memory.hpp"
#include "base/try_lock.hpp"
#include "core/matching/match_bucket.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Atomics>
class basic_match_buckets {
 public:
  using bucket = basic_match_bucket<Atomics>;

  static constexpr std::uint32_t count_max = std::uint32_t{1} << 30;

  /// A bucket that this thread has locked, and its `size`.
  struct entered {
    bucket* home = nullptr;
    std::uint32_t size = 0;

    void leave() const noexcept { home->leave(size); }
  };

  /// Begins with `count` buckets and has at most `most`; both are powers of two. `spins_max`: how often a thread looks
  /// again at a locked bucket. Throws std::bad_alloc.
  basic_match_buckets(std::uint32_t count, std::uint32_t most, std::uint32_t spins_max)
      : memory_{std::size_t{count} * sizeof(bucket), std::size_t{most} * sizeof(bucket)},
        buckets_{static_cast<bucket*>(memory_.begin())},
        spins_max_{spins_max},
        count_{count},
        most_{most},
        spilling_max_{spilling_allowed(count)} {
    WEFT_ASSERT(count <= most && most <= count_max);
    split_.set(count / 2);
    // [matching.first] relaxed: no other thread knows the table yet.
    for (std::uint32_t index = 0; index < count; ++index) buckets_[index].size.store(count, std::memory_order_relaxed);
  }

  /// Enters the bucket of keys with this fingerprint (its low 30 bits suffice) if that is simple; looks once.
  [[nodiscard]] [[gnu::always_inline]] bool try_enter_once(std::uint64_t print, entered& out) noexcept {
    // [matching.count] acquire <- [matching.doubled]: all buckets that these are split off from are in use.
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    bucket& home = buckets_[print & (count - 1)];
    const std::uint32_t seen = home.try_enter_once();
    out = {&home, count};
    if (seen == count) [[likely]]
      return true;
    if (seen != bucket::locked) home.leave(seen);
    return false;
  }
  /// Matches, whatever it takes. False: another thread has it locked.
  [[nodiscard]] [[gnu::always_inline]] bool try_enter(std::uint64_t print, entered& out) noexcept {
    if (try_enter_once(print, out)) [[likely]]
      return true;
    out = enter_slow(print);
    return out.home != nullptr;
  }

  /// Must be called under the lock of a bucket that has begun to spill keys, or has ended.
  void spills(bool begins) noexcept {
    // [matching.spilling] relaxed: a number and nothing else.
    spilling_.fetch_add(begins ? 1U : ~0U, std::memory_order_relaxed);
  }
  /// Must be called, without a lock, after a key was spilled: splits some buckets, or begins to double their number.
  [[gnu::noinline]] void grow() noexcept {
    if (!is_splitting() && !is_crowded()) return;
    if (!growing_.try_enter()) return;  // another thread does it
    constexpr unsigned step = 8;
    const std::uint32_t half = count() / 2;
    std::uint32_t done = split_.get();
    for (unsigned i = 0; i < step && done < half && split(done); ++i) ++done;
    split_.set(done);
    if (done == half) {
      is_splitting_.store(false, std::memory_order_relaxed);  // [hint]
      if (is_crowded()) double_count();
    }
    growing_.leave();
  }

  /// Calls `visit(bucket&)` for each bucket under its lock; returns how many other threads had locked. While the number
  /// doubles, a key may be visited twice, but is not missed.
  template <class Visit>
  std::size_t each(const Visit& visit) noexcept {
    std::size_t unseen = 0;
    for (std::uint32_t index = 0; index < count(); ++index) {
      std::uint32_t spins = 0;
      bucket& home = buckets_[index];
      const std::uint32_t seen = home.try_enter(spins_max_, spins);
      if (seen == bucket::locked) {
        ++unseen;
        continue;
      }
      if (seen != bucket::not_split_off) visit(home);
      home.leave(seen);
    }
    return unseen;
  }

  [[nodiscard]] std::uint32_t count() const noexcept {
    // [matching.counted] acquire <- [matching.doubled]: as [matching.count].
    return count_.load(std::memory_order_acquire);
  }

 private:
  static_assert(sizeof(bucket) == detail::cache_line_bytes);

  [[nodiscard]] bool is_splitting() const noexcept {
    return is_splitting_.load(std::memory_order_relaxed);  // [hint] buckets may be split at any time
  }
  [[nodiscard]] bool is_crowded() const noexcept {
    // [hint] the next thread that spills a key looks again
    return spilling_.load(std::memory_order_relaxed) > spilling_max_.load(std::memory_order_relaxed);
  }

  // One bucket of 16: with keys at random, there are 1.4 keys for each bucket then.
  static std::uint32_t spilling_allowed(std::uint32_t count) noexcept { return count / 16; }

  [[gnu::noinline]] entered enter_slow(std::uint64_t print) noexcept {
    if (is_splitting()) grow();
    for (std::uint32_t spins = 0;;) {
      const std::uint32_t now = count();
      const std::uint32_t index = static_cast<std::uint32_t>(print) & (now - 1);
      bucket& home = buckets_[index];
      const std::uint32_t seen = home.try_enter(spins_max_, spins);
      if (seen == bucket::locked) return {};
      if (seen == now) return {&home, now};
      if (seen > now) {
        // Another thread has doubled the number and split this bucket since: `count` sees it now.
        home.leave(seen);
      } else if (seen == bucket::not_split_off) {
        if (split_off(home, index, now, spins)) return {&home, now};
        home.leave(bucket::not_split_off);
        return {};
      } else {
        return {&home, split_if_free(home, index, seen)};
      }
    }
  }

  // The functions that follow split bucket `index - now / 2` and `index`, of `now` buckets.

  // The caller has locked the bucket `home`, which is not split off. False: another thread has locked the other one.
  [[nodiscard]] bool split_off(bucket& home, std::uint32_t index, std::uint32_t now, std::uint32_t& spins) noexcept {
    bucket& source = buckets_[index - now / 2];
    const std::uint32_t seen = source.try_enter(spins_max_, spins);
    if (seen == bucket::locked) return false;
    WEFT_ASSERT_CHECKED(seen == now / 2);
    move_keys(source, home, now / 2);
    source.leave(now);
    return true;
  }

  // The caller has locked bucket `index`, whose `size` was `seen`. Splits it, unless another thread has locked the one
  // to be split off: that thread is about to split it. Returns its new `size`.
  [[nodiscard]] std::uint32_t split_if_free(bucket& source, std::uint32_t index, std::uint32_t seen) noexcept {
    bucket& target = buckets_[index + seen];
    if (target.try_enter_once() == bucket::locked) return seen;
    move_keys(source, target, seen);
    target.leave(2 * seen);
    return 2 * seen;
  }

  // False: another thread has locked one of the two.
  [[nodiscard]] bool split(std::uint32_t index) noexcept {
    const std::uint32_t now = count();
    bucket& target = buckets_[index + now / 2];
    const std::uint32_t seen = target.try_enter_once();
    if (seen == bucket::locked) return false;
    std::uint32_t spins = spins_max_;
    const bool is_split = seen == now || split_off(target, index + now / 2, now, spins);
    target.leave(is_split ? now : bucket::not_split_off);
    return is_split;
  }

  void move_keys(bucket& source, bucket& target, std::uint32_t bit) noexcept {
    const bool did_spill = source.spilled.get() != nullptr;
    source.split(target, bit);
    if (!did_spill) return;
    if (source.spilled.get() == nullptr) spills(false);
    if (target.spilled.get() != nullptr) spills(true);
  }

  // Under `growing_`; all buckets are split.
  void double_count() noexcept {
    const std::uint32_t now = count();
    const bool may_double = now < most_;
    if (!may_double || !memory_.try_grow(std::size_t{now} * 2 * sizeof(bucket))) {
      // Not to ask again with each key: when so many more buckets spill keys, or never.
      const std::uint32_t next = 2 * spilling_max_.load(std::memory_order_relaxed) + 1;       // [locked]
      spilling_max_.store(may_double ? next : ~std::uint32_t{0}, std::memory_order_relaxed);  // [locked]
      return;
    }
    split_.set(0);
    spilling_max_.store(spilling_allowed(2 * now), std::memory_order_relaxed);  // [locked]
    is_splitting_.store(true, std::memory_order_relaxed);                       // [hint]
    // [matching.doubled] release -> [matching.count], [matching.counted]: all buckets are split.
    count_.store(2 * now, std::memory_order_release);
  }

  base::reserved_memory memory_;
  bucket* buckets_;
  std::uint32_t spins_max_;
  typename Atomics::template atomic<std::uint32_t> count_;
  typename Atomics::template atomic<bool> is_splitting_{false};

  // The state of growth, which many threads write. `growing_` guards what follows it.
  alignas(detail::cache_line_bytes) typename Atomics::template atomic<std::uint32_t> spilling_{0};
  base::basic_try_lock<Atomics> growing_;
  std::uint32_t most_;
  guarded<std::uint32_t, Atomics> split_;                          // buckets of the lower half that are split
  typename Atomics::template atomic<std::uint32_t> spilling_max_;  // so many spill keys before the number doubles
};

}  // namespace weft::core
