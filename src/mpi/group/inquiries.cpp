// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/group/inquiries.hpp"

#include <algorithm>

#include "mpi/error/error.hpp"

namespace weft::mpi {

int rank_in(const process_group& members, std::uint32_t world) noexcept {
  const std::optional<std::uint32_t> found = members.member(world);
  return found ? static_cast<int>(*found) : MPI_UNDEFINED;
}

int compare(const process_group& a, const process_group& b) noexcept {
  if (&a == &b || a.world_ranks() == b.world_ranks()) return MPI_IDENT;
  const bool has_all = a.size() == b.size() && std::ranges::all_of(a.world_ranks(), [&](std::uint32_t each) {
                         return b.member(each).has_value();
                       });
  return has_all ? MPI_SIMILAR : MPI_UNEQUAL;
}

int translate(const group_handle& from, std::span<const int> ranks, const group_handle& to, int* out) noexcept {
  for (const int rank : ranks) {
    if (rank != MPI_PROC_NULL && static_cast<unsigned>(rank) >= from.members->size())
      return fail(MPI_ERR_RANK, "rank %d in a group of %u", rank, from.members->size());
  }
  for (std::size_t index = 0; index < ranks.size(); ++index) {
    const int rank = ranks[index];
    out[index] = rank == MPI_PROC_NULL ? MPI_PROC_NULL
                                       : rank_in(*to.members, from.members->world_rank(static_cast<unsigned>(rank)));
  }
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
