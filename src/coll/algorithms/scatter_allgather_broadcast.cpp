// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of long data (van de Geijn; Barnett et al., 1994): a binomial tree scatters pieces, and a ring gathers them
// everywhere. Shares that a rank has got for its subtree are not sent to it again (Zhou et al., 2015).
//
// Cost, n ranks, m bytes: ceil(log2 n) + n - 1 rounds; for powers of two n - 1 + n (n - 1) - (n / 2) log2 n messages,
// and (n - 1) m bytes: each rank but the root receives m, in pieces of m / n.
#include <algorithm>
#include <bit>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

namespace {

// The pieces that the tree gives to a relative rank: its own, and those of its subtree behind it.
std::uint32_t scattered_to(const collective_args& args, std::uint32_t relative) {
  return relative == 0 ? args.size : std::min(relative & -relative, args.size - relative);
}

}  // namespace

// Steps of the ring have labels from 1 on.
bool can_scatter_allgather_broadcast(const collective_args& args) { return args.size <= schedule::labels_max; }

void scatter_allgather_broadcast(schedule& out, const collective_args& args) {
  const std::uint32_t n = args.size, mine = relative_rank(args);
  const part whole{mine == 0 ? location::input : location::output, 0, args.block_bytes};
  const auto piece = [&](std::uint32_t index) { return piece_of(whole, args.element_bytes, index, n); };
  const auto pieces = [&](std::uint32_t first, std::uint32_t count) {
    const part begin = piece(first), last = piece(first + count - 1);
    return sub(whole, begin.offset, last.offset + last.bytes - begin.offset);
  };
  const std::uint32_t has = scattered_to(args, mine);
  step_ref scattered;
  const std::uint32_t lowest = mine == 0 ? std::bit_ceil(n) : mine & -mine;
  if (mine != 0) scattered = out.receive(rank_of_relative(args, mine - lowest), 0, pieces(mine, has));
  for (std::uint32_t bit = lowest / 2; bit != 0; bit /= 2) {
    const std::uint32_t child = mine + bit;
    if (child >= n) continue;
    out.send(rank_of_relative(args, child), 0, pieces(child, scattered_to(args, child)), {scattered});
  }
  const std::uint32_t next = mine + 1 == n ? 0 : mine + 1;
  const std::uint32_t next_has = scattered_to(args, next);
  step_ref last = scattered;  // which brought the piece that is sent
  for (std::uint32_t round = 0; round + 1 < n; ++round) {
    const std::uint32_t sent = mine >= round ? mine - round : mine + n - round;
    const std::uint32_t received = sent == 0 ? n - 1 : sent - 1;
    if (sent - next >= next_has) out.send(rank_of_relative(args, next), 1 + round, piece(sent), {last});
    last = received - mine < has
               ? scattered
               : out.receive(rank_of_relative(args, mine == 0 ? n - 1 : mine - 1), 1 + round, piece(received));
  }
}

}  // namespace weft::coll
