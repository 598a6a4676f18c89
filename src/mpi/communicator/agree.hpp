// SPDX-License-Identifier: BSD-3-Clause
// How the members of a new communicator agree on it. Each function: **Errors**: those of a blocking collective.
#pragma once

#include <cstdint>

#include "mpi/group/process_group.hpp"
#include "mpi/info/hints.hpp"
#include "mpi/objects/context_ids.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {

struct communicator;
struct rank_state;

/// The contents of a message.
struct agreement {
  std::uint32_t context = no_context;
  matching_kind matching = matching_kind::in_order;
  std::uint32_t vci = 0;  // the number of the one that the first member wants, plus one; 0: none
};

/// The proposal of this member: the first member of `comm` adds an id.
[[nodiscard]] agreement proposal(rank_state& rank, const communicator& comm, matching_kind matching) noexcept;
/// Gives all members of `in` the proposal of the first one.
[[nodiscard]] collective broadcast_of(agreement& mine) noexcept;
/// Gives it to all, but matching is of another kind than `in_order` only if all propose that kind.
[[nodiscard]] collective vote_on(agreement& mine) noexcept;

/// The id that the first of `members` gives, which they alone ask for, in a tree of messages. `tag` tells apart
/// agreements of several threads in one parent.
[[nodiscard]] std::uint32_t agree_in_group(rank_state& rank, const communicator& parent, const process_group& members,
                                           int tag);

}  // namespace weft::mpi
