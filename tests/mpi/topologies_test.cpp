// SPDX-License-Identifier: BSD-3-Clause
// Cartesian topologies (MPI 5.0, 8.5).
#include <array>
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

using int_list = std::vector<int>;

int_list dimensions_created(int processes, int_list lengths) {
  EXPECT_EQ(MPI_Dims_create(processes, static_cast<int>(lengths.size()), lengths.data()), MPI_SUCCESS);
  return lengths;
}

MPI_Comm grid_of_world(int_list lengths, int_list are_periodic) {
  MPI_Comm out = MPI_COMM_NULL;
  EXPECT_EQ(
      MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(lengths.size()), lengths.data(), are_periodic.data(), 1, &out),
      MPI_SUCCESS);
  return out;
}

TEST(mpi_topologies, dims_create_divides_as_equally_as_it_can_in_descending_order) {
  run_ranks(1, [](numbers_of_rank) {
    // The examples of the standard.
    EXPECT_EQ(dimensions_created(6, {0, 0}), (int_list{3, 2}));
    EXPECT_EQ(dimensions_created(7, {0, 0}), (int_list{7, 1}));
    EXPECT_EQ(dimensions_created(6, {0, 3, 0}), (int_list{2, 3, 1}));
    int_list lengths{0, 3, 0};
    EXPECT_EQ(MPI_Dims_create(7, 3, lengths.data()), MPI_ERR_DIMS);
    EXPECT_EQ(dimensions_created(12, {0, 0}), (int_list{4, 3}));
    EXPECT_EQ(dimensions_created(64, {0, 0, 0}), (int_list{4, 4, 4}));
    EXPECT_EQ(dimensions_created(16, {0, 0, 0}), (int_list{4, 2, 2}));
    EXPECT_EQ(dimensions_created(36, {0, 0, 0}), (int_list{4, 3, 3}));
    EXPECT_EQ(dimensions_created(1, {0, 0}), (int_list{1, 1}));
    EXPECT_EQ(dimensions_created(2, {0, 0, 0, 0}), (int_list{2, 1, 1, 1}));
    EXPECT_EQ(dimensions_created(1 << 30, {0, 0, 0}), (int_list{1024, 1024, 1024}));
    EXPECT_EQ(dimensions_created(2147483647, {0, 0}), (int_list{2147483647, 1}));
    EXPECT_EQ(dimensions_created(2095133040, int_list(20, 0)),
              (int_list{19, 17, 13, 11, 7, 5, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(dimensions_created(8, {2, 4}), (int_list{2, 4}));
    lengths = {0, -1};
    EXPECT_EQ(MPI_Dims_create(6, 2, lengths.data()), MPI_ERR_DIMS);
    lengths = {2147483647, 2147483647, 2147483647};
    EXPECT_EQ(MPI_Dims_create(6, 3, lengths.data()), MPI_ERR_DIMS);
    EXPECT_EQ(MPI_Dims_create(0, 1, lengths.data()), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Dims_create(4, -1, lengths.data()), MPI_ERR_DIMS);
    EXPECT_EQ(MPI_Dims_create(4, 2, nullptr), MPI_ERR_ARG);
  });
}

TEST(mpi_topologies, a_grid_numbers_its_ranks_along_the_last_dimension_first) {
  run_ranks(7, [](numbers_of_rank mine) {
    MPI_Comm grid = grid_of_world({2, 3}, {0, 1});
    if (mine.rank == 6) {
      EXPECT_EQ(grid, MPI_COMM_NULL);
      return;
    }
    int size = 0, dimensions = 0, kind = 0;
    EXPECT_EQ(MPI_Comm_size(grid, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 6);
    EXPECT_EQ(MPI_Cartdim_get(grid, &dimensions), MPI_SUCCESS);
    EXPECT_EQ(dimensions, 2);
    EXPECT_EQ(MPI_Topo_test(grid, &kind), MPI_SUCCESS);
    EXPECT_EQ(kind, MPI_CART);
    EXPECT_EQ(MPI_Topo_test(MPI_COMM_WORLD, &kind), MPI_SUCCESS);
    EXPECT_EQ(kind, MPI_UNDEFINED);
    std::array<int, 2> lengths{}, are_periodic{}, own{};
    EXPECT_EQ(MPI_Cart_get(grid, 2, lengths.data(), are_periodic.data(), own.data()), MPI_SUCCESS);
    EXPECT_EQ(lengths, (std::array{2, 3}));
    EXPECT_EQ(are_periodic, (std::array{0, 1}));
    EXPECT_EQ(own, (std::array{mine.rank / 3, mine.rank % 3}));
    for (int rank = 0; rank < 6; ++rank) {
      std::array<int, 2> at{};
      int back = -1;
      EXPECT_EQ(MPI_Cart_coords(grid, rank, 2, at.data()), MPI_SUCCESS);
      EXPECT_EQ(at, (std::array{rank / 3, rank % 3}));
      at[1] += rank % 2 == 0 ? 3 : -6;  // periodic
      EXPECT_EQ(MPI_Cart_rank(grid, at.data(), &back), MPI_SUCCESS);
      EXPECT_EQ(back, rank);
    }
    EXPECT_EQ(MPI_Comm_free(&grid), MPI_SUCCESS);
  });
}

TEST(mpi_topologies, a_shift_wraps_around_where_the_grid_is_periodic_and_ends_elsewhere) {
  run_ranks(6, [](numbers_of_rank mine) {
    MPI_Comm grid = grid_of_world({3, 2}, {1, 0});
    const auto shifted = [&](int dimension, int distance) {
      int source = -7, destination = -7;
      EXPECT_EQ(MPI_Cart_shift(grid, dimension, distance, &source, &destination), MPI_SUCCESS);
      return std::array{source, destination};
    };
    const auto around = [&](int distance) { return (mine.rank + 2 * distance + 60) % 6; };
    EXPECT_EQ(shifted(0, 1), (std::array{around(-1), around(1)}));
    EXPECT_EQ(shifted(0, -2), (std::array{around(2), around(-2)}));
    EXPECT_EQ(shifted(0, 7), (std::array{around(-7), around(7)}));
    EXPECT_EQ(shifted(0, 2147483647), (std::array{around(-1), around(1)}));
    EXPECT_EQ(shifted(1, 0), (std::array{mine.rank, mine.rank}));
    const bool is_left = mine.rank % 2 == 0;
    EXPECT_EQ(shifted(1, 1),
              (is_left ? std::array{MPI_PROC_NULL, mine.rank + 1} : std::array{mine.rank - 1, MPI_PROC_NULL}));
    EXPECT_EQ(shifted(1, 2), (std::array{MPI_PROC_NULL, MPI_PROC_NULL}));
    // Messages go along, and none at the end.
    const auto [source, destination] = shifted(1, 1);
    const int value = mine.rank;
    int got = -1;
    EXPECT_EQ(MPI_Sendrecv(&value, 1, MPI_INT, destination, 0, &got, 1, MPI_INT, source, 0, grid, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    EXPECT_EQ(got, is_left ? -1 : mine.rank - 1);
    EXPECT_EQ(MPI_Comm_free(&grid), MPI_SUCCESS);
  });
}

TEST(mpi_topologies, slices_keep_the_dimensions_that_remain_and_duplicates_keep_all) {
  run_ranks(12, [](numbers_of_rank mine) {
    MPI_Comm grid = grid_of_world({2, 3, 2}, {0, 1, 0}), slice{}, copy{}, point{};
    const std::array<int, 3> remain{1, 0, 1}, none{0, 0, 0};
    EXPECT_EQ(MPI_Cart_sub(grid, remain.data(), &slice), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_dup(slice, &copy), MPI_SUCCESS);
    std::array<int, 2> lengths{}, are_periodic{}, own{};
    EXPECT_EQ(MPI_Cart_get(copy, 2, lengths.data(), are_periodic.data(), own.data()), MPI_SUCCESS);
    EXPECT_EQ(lengths, (std::array{2, 2}));
    EXPECT_EQ(are_periodic, (std::array{0, 0}));
    EXPECT_EQ(own, (std::array{mine.rank / 6, mine.rank % 2}));
    int sum = mine.rank;
    EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, slice), MPI_SUCCESS);
    const int lowest = mine.rank / 2 % 3 * 2;
    EXPECT_EQ(sum, 4 * lowest + 0 + 1 + 6 + 7);
    EXPECT_EQ(MPI_Cart_sub(grid, none.data(), &point), MPI_SUCCESS);
    int dimensions = -1, size = -1, rank = -1;
    EXPECT_EQ(MPI_Cartdim_get(point, &dimensions), MPI_SUCCESS);
    EXPECT_EQ(dimensions, 0);
    EXPECT_EQ(MPI_Comm_size(point, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 1);
    EXPECT_EQ(MPI_Cart_rank(point, nullptr, &rank), MPI_SUCCESS);
    EXPECT_EQ(rank, 0);
    EXPECT_EQ(MPI_Cart_get(point, 0, nullptr, nullptr, nullptr), MPI_SUCCESS);
    for (MPI_Comm* each : {&grid, &slice, &copy, &point}) EXPECT_EQ(MPI_Comm_free(each), MPI_SUCCESS);
    MPI_Comm single = grid_of_world({}, {});
    EXPECT_EQ(single != MPI_COMM_NULL, mine.rank == 0);
    if (single != MPI_COMM_NULL) {
      EXPECT_EQ(MPI_Comm_free(&single), MPI_SUCCESS);
    }
    int mapped = -5;
    const std::array<int, 2> smaller{5, 2}, open{0, 0};
    EXPECT_EQ(MPI_Cart_map(MPI_COMM_WORLD, 2, smaller.data(), open.data(), &mapped), MPI_SUCCESS);
    EXPECT_EQ(mapped, mine.rank < 10 ? mine.rank : MPI_UNDEFINED);
  });
}

TEST(mpi_topologies, refuse_wrong_arguments) {
  run_ranks(4, [](numbers_of_rank) {
    MPI_Comm made = MPI_COMM_NULL;
    const std::array<int, 2> too_many{3, 2}, negative{2, -2}, zero{0, 2}, fitting{2, 2}, open{0, 0};
    for (const auto& each : {too_many, negative, zero}) {
      EXPECT_EQ(MPI_Cart_create(MPI_COMM_WORLD, 2, each.data(), open.data(), 0, &made), MPI_ERR_DIMS);
      int mapped = 0;
      EXPECT_EQ(MPI_Cart_map(MPI_COMM_WORLD, 2, each.data(), open.data(), &mapped), MPI_ERR_DIMS);
    }
    EXPECT_EQ(MPI_Cart_create(MPI_COMM_WORLD, -1, fitting.data(), open.data(), 0, &made), MPI_ERR_DIMS);
    EXPECT_EQ(MPI_Cart_create(MPI_COMM_NULL, 2, fitting.data(), open.data(), 0, &made), MPI_ERR_COMM);
    EXPECT_EQ(MPI_Cart_create(MPI_COMM_WORLD, 2, nullptr, open.data(), 0, &made), MPI_ERR_ARG);
    int number = 0, second = 0;
    std::array<int, 2> at{};
    EXPECT_EQ(MPI_Cartdim_get(MPI_COMM_WORLD, &number), MPI_ERR_TOPOLOGY);
    EXPECT_EQ(MPI_Cart_coords(MPI_COMM_WORLD, 0, 2, at.data()), MPI_ERR_TOPOLOGY);
    EXPECT_EQ(MPI_Cart_rank(MPI_COMM_WORLD, at.data(), &number), MPI_ERR_TOPOLOGY);
    EXPECT_EQ(MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &number, &second), MPI_ERR_TOPOLOGY);
    EXPECT_EQ(MPI_Cart_sub(MPI_COMM_WORLD, at.data(), &made), MPI_ERR_TOPOLOGY);
    EXPECT_EQ(MPI_Cart_get(MPI_COMM_WORLD, 2, at.data(), at.data(), at.data()), MPI_ERR_TOPOLOGY);
    MPI_Comm grid = grid_of_world({2, 2}, {0, 1});
    at = {2, 0};
    EXPECT_EQ(MPI_Cart_rank(grid, at.data(), &number), MPI_ERR_ARG);
    at = {-1, 0};
    EXPECT_EQ(MPI_Cart_rank(grid, at.data(), &number), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Cart_rank(grid, nullptr, &number), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Cart_coords(grid, 4, 2, at.data()), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Cart_coords(grid, 0, 1, at.data()), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Cart_get(grid, 1, at.data(), at.data(), at.data()), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Cart_shift(grid, 2, 1, &number, &second), MPI_ERR_DIMS);
    EXPECT_EQ(MPI_Cart_shift(grid, -1, 1, &number, &second), MPI_ERR_DIMS);
    EXPECT_EQ(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &number), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(MPI_Comm_free(&grid), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
