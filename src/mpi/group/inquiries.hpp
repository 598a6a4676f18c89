// SPDX-License-Identifier: BSD-3-Clause
// Ranks in groups, and comparisons of groups.
#pragma once

#include <span>

#include "mpi.h"
#include "mpi/group/process_group.hpp"

namespace weft::mpi {

/// The number in a group of a rank of the job; MPI_UNDEFINED if it is no member.
[[nodiscard]] int rank_in(const process_group& members, std::uint32_t world) noexcept;

/// MPI_IDENT, MPI_SIMILAR (another order) or MPI_UNEQUAL.
[[nodiscard]] int compare(const process_group& a, const process_group& b) noexcept;

/// Writes the rank in `to` of each rank in `from`. `out` has as many elements as `ranks`.
int translate(const group_handle& from, std::span<const int> ranks, const group_handle& to, int* out) noexcept;

}  // namespace weft::mpi
