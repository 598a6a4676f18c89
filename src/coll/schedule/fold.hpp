// SPDX-License-Identifier: BSD-3-Clause
// A group of any size as 2^k members, for algorithms that need a power of two: ranks 2 i and 2 i + 1 of the first ones
// are one member. So a member stands for ranks in a row, and the order of members is that of ranks.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::coll {

class fold {
 public:
  /// The rank `leading` leads its pair; the lower rank leads each other pair.
  constexpr explicit fold(std::uint32_t ranks, std::uint32_t leading = 0) noexcept
      : members_{std::bit_floor(ranks)}, pairs_{ranks - members_}, leading_{leading} {}

  [[nodiscard]] constexpr std::uint32_t members() const noexcept { return members_; }
  [[nodiscard]] constexpr std::uint32_t member_of(std::uint32_t rank) const noexcept {
    return rank / 2 < pairs_ ? rank / 2 : rank - pairs_;
  }
  [[nodiscard]] constexpr bool is_pair(std::uint32_t member) const noexcept { return member < pairs_; }
  [[nodiscard]] constexpr std::uint32_t leader_of(std::uint32_t member) const noexcept {
    if (!is_pair(member)) return member + pairs_;
    return 2 * member + (leading_ == 2 * member + 1 ? 1 : 0);
  }
  /// The other rank of a pair.
  [[nodiscard]] constexpr std::uint32_t follower_of(std::uint32_t member) const noexcept {
    return leader_of(member) ^ 1;
  }

 private:
  std::uint32_t members_;
  std::uint32_t pairs_;
  std::uint32_t leading_;
};

}  // namespace weft::coll
