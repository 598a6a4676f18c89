// SPDX-License-Identifier: BSD-3-Clause
// Short collectives without a graph, for a thread that waits: a barrier, a broadcast or an allreduce of a few bytes.
//
// Cost: their messages, and a wait for each round. Algorithms: dissemination, binomial, recursive doubling; where ranks
// share cores, the linear ones, by which a rank waits once. The bodies are in
// algorithms/short/; each algorithm has a schedule, too, and tests compare both.
#pragma once

#include "coll/args/collective_args.hpp"
#include "coll/group/group_state.hpp"
#include "weft/collectives.hpp"

namespace weft::coll::short_collective {

/// Sets the arguments of a blocking collective that has a short body (algorithms/short/), which is that of the
/// algorithm that the rules choose.
/// False if it has none, the call or WEFT_COLL names an algorithm, or anything is unusual or wrong: `set_args` finds
/// that out. **Errors**: std::bad_alloc.
[[nodiscard]] bool try_set_args(collective_args& args, const collective::parts& call, group_state& group,
                                const collective_options& options);

/// Runs the body. **Errors**: those of posts and waits.
void run(group_state& group, const collective_args& args, const_buffer_ref from, buffer_ref into,
         const reduction& reduction);

}  // namespace weft::coll::short_collective
