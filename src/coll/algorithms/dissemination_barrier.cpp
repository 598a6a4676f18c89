// SPDX-License-Identifier: BSD-3-Clause
// Barrier by dissemination (Hensgen, Finkel and Manber, 1988): in round k each rank signals the rank 2^k above it,
// around the end, and so passes on all signals that it has.
//
// Cost, n ranks: ceil(log2 n) rounds, n ceil(log2 n) messages of no bytes.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void dissemination_barrier(schedule& out, const collective_args& args) {
  step_ref sent, received;
  for (std::uint32_t round = 0; round < doublings(args.size); ++round) {
    const std::uint32_t distance = 1U << round;
    const auto above = static_cast<std::uint32_t>((std::uint64_t{args.rank} + distance) % args.size);
    const auto below = static_cast<std::uint32_t>((std::uint64_t{args.rank} + args.size - distance) % args.size);
    // The send follows the last send, and so all earlier receives.
    sent = out.send(above, round, {}, {sent, received});
    received = out.receive(below, round, {});
  }
}

}  // namespace weft::coll
