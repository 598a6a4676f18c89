// SPDX-License-Identifier: BSD-3-Clause
// What the members of a termination conclude from waves, which add up their counts: Mattern's four counter method.
//
// The argument. A piece of work is begun, and later done. Its `done` is counted after its `begun`, and after the
// `begun` of all pieces that it causes. A wave adds up the two counts that each member reads when it joins; a member
// joins a wave after every member has joined the wave before. Let D be the pieces whose `done` was read in one wave,
// and B the pieces whose `begun` was read in the next wave.
// 1. D is a part of B. For a piece in D, `begun` happens before `done`, `done` before the first wave's reading of it
//    (release and acquire), and that before the second wave's reading.
// 2. So if both sums are equal, D equals B: all pieces in B are done, and were done before the second wave began.
// 3. Then no other piece exists. Assume that some pieces are not in B, and take one that no other of them caused.
// Either
//    its member began it by itself: it did so before it joined the second wave, as it waits for the end by then; so the
//    piece is in B. Or a piece in B caused it, which is in D too: the `done` of that one was counted after the `begun`
//    of the piece in question, and by 1. the second wave has read it. Both contradict the assumption.
// The sums need not belong to one moment, and messages may overtake each other. By 1. a sum of `done` that is larger
// than the next wave's sum of `begun` proves a wrong count. Before the first wave no piece was done, and the sum of an
// earlier wave is zero. After an end, the next termination's first wave is compared with the last wave of this one.
//
// A member whose operation has failed adds wrong numbers up, and so do the members that get its sums. Each wave has a
// number, which is added up as well: if that sum is not the number times the members, all of them know of the failure.
#pragma once

#include <cstdint>

namespace weft::coll {

/// What a member adds to a wave, and the sums.
struct wave {
  std::uint64_t done = 0;
  std::uint64_t begun = 0;
  std::uint64_t numbers = 0;  ///< the wave's number; a sum is that number times the members
};

enum class verdict : std::uint8_t { go_on, ended, miscounted, failed };

class wave_judge {
 public:
  explicit wave_judge(std::uint32_t members) noexcept : members_{members} {}

  /// The number of the next wave.
  [[nodiscard]] std::uint64_t next_number() noexcept { return ++number_; }
  /// The verdict about that wave's sums.
  [[nodiscard]] verdict judge(const wave& sums) noexcept {
    if (sums.numbers != number_ * members_) return verdict::failed;
    const auto left = static_cast<std::int64_t>(sums.begun - done_before_);
    if (left < 0) return verdict::miscounted;
    done_before_ = sums.done;
    return left == 0 ? verdict::ended : verdict::go_on;
  }
  /// The sum of done pieces, in the last wave but the one that `miscounted` is about.
  [[nodiscard]] std::uint64_t done_before() const noexcept { return done_before_; }

 private:
  std::uint64_t members_;
  std::uint64_t number_ = 0;
  std::uint64_t done_before_ = 0;
};

}  // namespace weft::coll
