// SPDX-License-Identifier: BSD-3-Clause
// Communicators of some members of another one.
#pragma once

#include <cstdint>
#include <optional>

#include "mpi.h"
#include "mpi/group/process_group.hpp"

namespace weft::mpi {

struct communicator;
struct rank_state;

/// MPI_Comm_create: all members of `parent` call it, each with a group of its own choice; members of one group with
/// one.
int create(rank_state& rank, communicator& parent, const group_handle& group, MPI_Comm* out) noexcept;
/// MPI_Comm_create_group: the members of the group alone call it, with a tag of the calling thread.
int create_in_group(rank_state& rank, communicator& parent, const group_handle& group, int tag, MPI_Comm* out) noexcept;

/// MPI_Comm_split.
int split(rank_state& rank, communicator& parent, int color, int key, MPI_Comm* out) noexcept;
/// Splits by colors of any kind. A member without a color gets no communicator. **Errors**: those of a blocking
/// collective.
[[nodiscard]] communicator* split_by(rank_state& rank, communicator& parent, std::optional<std::int64_t> color,
                                     int key);

/// The handle of a communicator that was made; MPI_COMM_NULL for null.
[[nodiscard]] inline MPI_Comm handle_or_null(communicator* made) noexcept {
  return made != nullptr ? reinterpret_cast<MPI_Comm>(made) : MPI_COMM_NULL;
}

}  // namespace weft::mpi
