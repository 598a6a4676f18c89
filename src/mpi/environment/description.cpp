// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/environment/description.hpp"

#include "mpi/objects/communicator.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {

bool describe(MPI_Comm handle, weft::mpi_communicator& to) {
  rank_state* const rank = current_rank();
  if (rank == nullptr) return false;
  to.runtime = &rank->runtime;
  const communicator* const found = find_communicator(*rank, handle);
  if (found == nullptr) return false;
  to.device = &found->route.device;
  to.world_ranks.resize(found->size);
  for (std::uint32_t member = 0; member < found->size; ++member)
    to.world_ranks[member] = found->world_rank(static_cast<int>(member));
  return true;
}

}  // namespace weft::mpi
