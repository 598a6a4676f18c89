// SPDX-License-Identifier: BSD-3-Clause
// The messages of recursive_doubling_allreduce.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>

#include "coll/algorithms/short/short_messages.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/schedule/fold.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

/// The value that a member has combined so far, and its exchange with others.
template <short_messages Messages>
class short_accumulator {
 public:
  short_accumulator(Messages& all, const collective_args& args, const reduction& reduction, const void* from)
      : all_{all}, bytes_{static_cast<std::size_t>(args.block_bytes)}, reduction_{reduction} {
    std::memcpy(mine_->data(), from, bytes_);
  }
  [[nodiscard]] std::byte* bytes() noexcept { return mine_->data(); }
  void take(std::uint32_t member, std::uint32_t label, bool is_lower) {
    all_.expect(member, label, theirs_->data(), bytes_);
    all_.wait();
    combine(is_lower);
  }
  void exchange(std::uint32_t member, std::uint32_t label, bool is_lower) {
    all_.send(member, label, mine_->data(), bytes_);
    take(member, label, is_lower);
  }

 private:
  void combine(bool is_lower) {
    if (all_.has_failed()) [[unlikely]]
      return;
    if (!is_lower) std::swap(mine_, theirs_);
    try {
      reduction_.combine(theirs_->data(), mine_->data(), bytes_ / reduction_.element_bytes, reduction_.context);
    } catch (...) {
      all_.fail(std::current_exception());
    }
  }

  Messages& all_;
  std::size_t bytes_;
  const reduction& reduction_;
  std::array<element_room, 2> room_;
  element_room* mine_ = &room_[0];
  element_room* theirs_ = &room_[1];
};

/// It keeps the order of ranks. In a pair the higher rank gives its input to the lower one, which takes part for both.
template <short_messages Messages, class Source>
void short_recursive_doubling_allreduce(Source& source, const collective_args& args, const void* from, void* into,
                                        const reduction& reduction) {
  constexpr std::uint32_t exchange = 0, result_of_pair = 1;
  Messages all{source};
  const auto bytes = static_cast<std::size_t>(args.block_bytes);
  const fold group{args.size};
  const std::uint32_t member = group.member_of(args.rank);
  if (const std::uint32_t leader = group.leader_of(member); leader != args.rank) {
    all.send(leader, exchange, from, bytes);
    all.expect(leader, result_of_pair, into, bytes);
    all.wait();
    return all.finish();
  }
  short_accumulator<Messages> mine{all, args, reduction, from};
  if (group.is_pair(member)) mine.take(group.follower_of(member), exchange, false);
  for (std::uint32_t bit = 1; bit < group.members(); bit *= 2) {
    const std::uint32_t peer = group.leader_of(member ^ bit);
    mine.exchange(peer, exchange, peer < args.rank);
  }
  if (group.is_pair(member)) all.send(group.follower_of(member), result_of_pair, mine.bytes(), bytes);
  all.finish();
  std::memcpy(into, mine.bytes(), bytes);
}

}  // namespace weft::coll
