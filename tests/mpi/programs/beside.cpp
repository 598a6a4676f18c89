// SPDX-License-Identifier: BSD-3-Clause
// Uses MPI and Weft beside each other: active messages go round the ranks of a communicator, among messages of MPI.
#include <weft/mpi.hpp>

#include <mpi.h>

#include <cstdio>
#include <span>

#include <weft/weft.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool is_right = false;
  {
    const weft::mpi_communicator world = weft::describe_communicator(MPI_COMM_WORLD);
    const weft::mpi_communicator self = weft::describe_communicator(MPI_COMM_SELF);
    is_right = world.world_ranks.size() == static_cast<std::size_t>(size) && self.world_ranks.size() == 1 &&
               self.world_ranks[0] == static_cast<std::uint32_t>(rank) && self.runtime == world.runtime;

    int heard = -1;
    weft::handler on_arrival{*world.runtime,
                             [&](weft::completion_record&& message) { heard = static_cast<int>(message.peer()); }};
    const auto arrivals = world.runtime->register_completion(on_arrival, {.id = 1});
    weft::counter sent{*world.runtime};
    const int next = (rank + 1) % size;
    const int previous = (rank + size - 1) % size;
    world.device->until_accepted([&] {
      return world.device->post_am(world.world_ranks[static_cast<std::size_t>(next)], {.id = 1}, std::span{&rank, 1},
                                   sent);
    });
    // Functions of MPI make progress for the handler, too.
    for (int all = 0; all == 0;) {
      const int mine = heard >= 0 ? 1 : 0;
      MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    world.device->wait_all(sent);
    is_right = is_right && heard == previous;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  try {
    (void)weft::describe_communicator(MPI_COMM_WORLD);
    is_right = false;
  } catch (const weft::error&) {
  }
  if (!is_right) std::fprintf(stderr, "rank %d: wrong\n", rank);
  return is_right ? 0 : 1;
}
