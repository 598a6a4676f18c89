// SPDX-License-Identifier: BSD-3-Clause
// The bodies of short collectives: which messages one member sends and awaits. short_collective.cpp gives them its messages,
// and a test gives them messages that it counts.
//
// Each member takes a body or the schedule of its algorithm, depending on its own call: a posted collective, a layout
// and another kind of memory take the schedule. So both send equal messages: to one peer, with one label, of one size
// (tests/coll/short_bodies_test.cpp).
//
// A body makes `Messages` of the source that it is given. `Messages` has
//   expect(member, label, into, bytes)  a receive that the next `wait` waits for
//   send(member, label, from, bytes)    before the receives that follow
//   wait()
//   fail(exception), has_failed()       later messages tell other members that this one has failed
//   finish()                            throws the failure
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>

#include "coll/algorithms/algorithms.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/schedule/fold.hpp"
#include "coll/schedule/ranks.hpp"
#include "weft/collectives.hpp"
#include "weft/detail/raw_record.hpp"

namespace weft::coll::direct_bodies {

inline constexpr std::size_t message_bytes_max = detail::inline_bytes_max;
struct alignas(std::max_align_t) element_room : std::array<std::byte, message_bytes_max> {};

/// The buffer of messages without bytes.
inline std::byte no_bytes;

/// Each of the others waits once for member 0, which waits for all of them together: for ranks that share cores.
template <class Messages, class Source>
void linear_barrier(Source& source, const collective_args& args) {
  constexpr std::uint32_t to_root = 0, from_root = 1;
  Messages all{source};
  if (args.rank != 0) {
    all.send(0, to_root, &no_bytes, 0);
    all.expect(0, from_root, &no_bytes, 0);
    all.wait();
    return all.finish();
  }
  for (std::uint32_t member = 1; member < args.size; ++member) all.expect(member, to_root, &no_bytes, 0);
  all.wait();
  for (std::uint32_t member = 1; member < args.size; ++member) all.send(member, from_root, &no_bytes, 0);
  all.finish();
}

template <class Messages, class Source>
void barrier(Source& source, const collective_args& args) {
  Messages all{source};
  const std::uint32_t rank = args.rank, size = args.size;
  for (std::uint32_t round = 0; round < doublings(size); ++round) {
    const std::uint32_t distance = 1U << round;
    all.send((rank + distance) % size, round, &no_bytes, 0);
    all.expect((rank + size - distance) % size, round, &no_bytes, 0);
    all.wait();
  }
  all.finish();
}

template <class Messages, class Source>
void linear_broadcast(Source& source, const collective_args& args, const void* from, void* into) {
  Messages all{source};
  const auto bytes = static_cast<std::size_t>(args.block_bytes);
  if (args.rank != args.root) {
    all.expect(args.root, 0, into, bytes);
    all.wait();
    return all.finish();
  }
  for (std::uint32_t each = 1; each < args.size; ++each) all.send(rank_of_relative(args, each), 0, from, bytes);
  all.finish();
}

template <class Messages, class Source>
void broadcast(Source& source, const collective_args& args, const void* from, void* into) {
  Messages all{source};
  const auto bytes = static_cast<std::size_t>(args.block_bytes);
  const std::uint32_t mine = relative_rank(args);
  const std::uint32_t lowest = mine == 0 ? std::bit_ceil(args.size) : mine & -mine;
  if (mine != 0) {
    all.expect(rank_of_relative(args, mine - lowest), 0, into, bytes);
    all.wait();
    from = into;
  }
  for (std::uint32_t bit = lowest / 2; bit != 0; bit /= 2) {
    if (mine + bit < args.size) all.send(rank_of_relative(args, mine + bit), 0, from, bytes);
  }
  all.finish();
}

/// The value that a member has combined so far, and its exchange with others.
template <class Messages>
class combining {
 public:
  combining(Messages& all, const collective_args& args, const reduction& reduction, const void* from)
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

/// Member 0 waits for all others together, and combines in the order of ranks.
template <class Messages, class Source>
void linear_allreduce(Source& source, const collective_args& args, const void* from, void* into,
                      const reduction& reduction) {
  constexpr std::uint32_t to_root = 0, from_root = 1;
  Messages all{source};
  const auto bytes = static_cast<std::size_t>(args.block_bytes);
  std::array<element_room, linear_members_max> room;
  if (args.rank != 0) {
    all.send(0, to_root, from, bytes);
    all.expect(0, from_root, into, bytes);
    all.wait();
    return all.finish();
  }
  for (std::uint32_t member = 1; member < args.size; ++member) all.expect(member, to_root, room[member].data(), bytes);
  std::memcpy(room[0].data(), from, bytes);
  all.wait();
  try {
    for (std::uint32_t member = 1; member < args.size && !all.has_failed(); ++member)
      reduction.combine(room[member - 1].data(), room[member].data(), bytes / reduction.element_bytes,
                        reduction.context);
  } catch (...) {
    all.fail(std::current_exception());
  }
  const void* const result = room[args.size - 1].data();
  for (std::uint32_t member = 1; member < args.size; ++member) all.send(member, from_root, result, bytes);
  all.finish();
  std::memcpy(into, result, bytes);
}

/// Recursive doubling, in the order of ranks. In a pair the higher rank gives its input to the lower one, which takes
/// part for both.
template <class Messages, class Source>
void allreduce(Source& source, const collective_args& args, const void* from, void* into, const reduction& reduction) {
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
  combining<Messages> mine{all, args, reduction, from};
  if (group.is_pair(member)) mine.take(group.follower_of(member), exchange, false);
  for (std::uint32_t bit = 1; bit < group.members(); bit *= 2) {
    const std::uint32_t peer = group.leader_of(member ^ bit);
    mine.exchange(peer, exchange, peer < args.rank);
  }
  if (group.is_pair(member)) all.send(group.follower_of(member), result_of_pair, mine.bytes(), bytes);
  all.finish();
  std::memcpy(into, mine.bytes(), bytes);
}

/// The body of a collective that `can` be done so. `source`: that `Messages` are made of. `from`: the input, which may
/// be `into`.
template <class Messages, class Source>
void carry_out(Source& source, const collective_args& args, const void* from, void* into, const reduction& reduction) {
  const bool is_linear = args.is_oversubscribed && args.size <= linear_members_max;
  if (args.operation == operation::barrier)
    return is_linear ? linear_barrier<Messages>(source, args) : barrier<Messages>(source, args);
  if (args.operation == operation::broadcast) {
    return is_linear ? linear_broadcast<Messages>(source, args, from, into)
                     : broadcast<Messages>(source, args, from, into);
  }
  return is_linear ? linear_allreduce<Messages>(source, args, from, into, reduction)
                   : allreduce<Messages>(source, args, from, into, reduction);
}

}  // namespace weft::coll::direct_bodies
