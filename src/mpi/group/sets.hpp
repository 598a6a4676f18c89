// SPDX-License-Identifier: BSD-3-Clause
// Groups made of groups. Arguments are checked by the callers, the entry points, but for lists of ranks.
#pragma once

#include <span>

#include "mpi.h"
#include "mpi/group/process_group.hpp"

namespace weft::mpi {

int unite(const group_handle& a, const group_handle& b, MPI_Group* out) noexcept;
int intersect(const group_handle& a, const group_handle& b, MPI_Group* out) noexcept;
int subtract(const group_handle& a, const group_handle& b, MPI_Group* out) noexcept;

/// The members that a list names, or all others.
int include(const group_handle& group, std::span<const int> ranks, MPI_Group* out) noexcept;
int exclude(const group_handle& group, std::span<const int> ranks, MPI_Group* out) noexcept;
/// A range is a first rank, a last one, and a stride.
using rank_range = int[3];
int include_ranges(const group_handle& group, std::span<const rank_range> ranges, MPI_Group* out) noexcept;
int exclude_ranges(const group_handle& group, std::span<const rank_range> ranges, MPI_Group* out) noexcept;

}  // namespace weft::mpi
