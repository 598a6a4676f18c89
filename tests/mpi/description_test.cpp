// SPDX-License-Identifier: BSD-3-Clause
// What Weft knows of communicators (weft/mpi.hpp).
#include "weft/mpi.hpp"

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

errc error_of(MPI_Comm communicator) {
  try {
    (void)describe_communicator(communicator);
  } catch (const error& thrown) {
    return thrown.code();
  }
  return errc::none;
}

TEST(mpi_description, a_communicator_has_a_runtime_a_device_and_ranks_of_the_job) {
  run_ranks(3, [](numbers_of_rank mine) {
    const mpi_communicator world = describe_communicator(MPI_COMM_WORLD);
    EXPECT_EQ(world.world_ranks, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(world.runtime->rank(), static_cast<std::uint32_t>(mine.rank));
    EXPECT_EQ(world.device, &world.runtime->default_device());
    const mpi_communicator self = describe_communicator(MPI_COMM_SELF);
    EXPECT_EQ(self.world_ranks, (std::vector<std::uint32_t>{world.runtime->rank()}));
    EXPECT_EQ(self.runtime, world.runtime);
  });
}

TEST(mpi_description, other_handles_and_other_times_are_errors) {
  EXPECT_EQ(error_of(MPI_COMM_WORLD), errc::invalid_state);
  run_ranks(1, [](numbers_of_rank) {
    EXPECT_EQ(error_of(MPI_COMM_NULL), errc::invalid_argument);
    EXPECT_EQ(error_of(reinterpret_cast<MPI_Comm>(MPI_INT)), errc::invalid_argument);
  });
  EXPECT_EQ(error_of(MPI_COMM_WORLD), errc::invalid_state);
}

}  // namespace
}  // namespace weft
