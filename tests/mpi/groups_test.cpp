// SPDX-License-Identifier: BSD-3-Clause
// MPI_Group (MPI 5.0, 7.3): no function of it communicates.
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// The ranks in MPI_COMM_WORLD of a group's members.
std::vector<int> members_of(MPI_Group group) {
  int size = 0;
  EXPECT_EQ(MPI_Group_size(group, &size), MPI_SUCCESS);
  MPI_Group world = MPI_GROUP_NULL;
  EXPECT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &world), MPI_SUCCESS);
  std::vector<int> from(static_cast<std::size_t>(size)), out(from);
  for (int rank = 0; rank < size; ++rank) from[static_cast<std::size_t>(rank)] = rank;
  EXPECT_EQ(MPI_Group_translate_ranks(group, size, from.data(), world, out.data()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Group_free(&world), MPI_SUCCESS);
  EXPECT_EQ(world, MPI_GROUP_NULL);
  return out;
}

// The same, and the group is freed.
std::vector<int> taken(MPI_Group group) {
  const std::vector<int> out = members_of(group);
  EXPECT_EQ(MPI_Group_free(&group), MPI_SUCCESS);
  return out;
}

MPI_Group group_of_world() {
  MPI_Group out = MPI_GROUP_NULL;
  EXPECT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &out), MPI_SUCCESS);
  return out;
}

MPI_Group included(MPI_Group in, std::vector<int> ranks) {
  MPI_Group out = MPI_GROUP_NULL;
  EXPECT_EQ(MPI_Group_incl(in, static_cast<int>(ranks.size()), ranks.data(), &out), MPI_SUCCESS);
  return out;
}

using int_list = std::vector<int>;

TEST(mpi_groups, lists_of_ranks_choose_members_in_their_order_or_leave_them_out) {
  run_ranks(6, [](numbers_of_rank mine) {
    MPI_Group world = group_of_world();
    EXPECT_EQ(members_of(world), (int_list{0, 1, 2, 3, 4, 5}));
    MPI_Group some = included(world, {4, 0, 3});
    EXPECT_EQ(members_of(some), (int_list{4, 0, 3}));
    int rank = -5;
    EXPECT_EQ(MPI_Group_rank(some, &rank), MPI_SUCCESS);
    EXPECT_EQ(rank, mine.rank == 4 ? 0 : mine.rank == 0 ? 1 : mine.rank == 3 ? 2 : MPI_UNDEFINED);
    EXPECT_EQ(taken(included(some, {2, 0})), (int_list{3, 4}));
    EXPECT_EQ(included(world, {}), MPI_GROUP_EMPTY);
    MPI_Group others = MPI_GROUP_NULL;
    const int_list out{5, 1};
    EXPECT_EQ(MPI_Group_excl(world, 2, out.data(), &others), MPI_SUCCESS);
    EXPECT_EQ(taken(others), (int_list{0, 2, 3, 4}));
    const int_list all{2, 1, 0};
    EXPECT_EQ(MPI_Group_excl(some, 3, all.data(), &others), MPI_SUCCESS);
    EXPECT_EQ(others, MPI_GROUP_EMPTY);
    EXPECT_EQ(MPI_Group_excl(some, 0, nullptr, &others), MPI_SUCCESS);
    EXPECT_EQ(taken(others), (int_list{4, 0, 3}));
    EXPECT_EQ(MPI_Group_free(&some), MPI_SUCCESS);
    EXPECT_EQ(MPI_Group_free(&world), MPI_SUCCESS);
  });
}

TEST(mpi_groups, ranges_go_up_and_down_and_end_before_they_pass_the_last_rank) {
  run_ranks(8, [](numbers_of_rank) {
    MPI_Group world = group_of_world(), made = MPI_GROUP_NULL;
    int ranges[][3] = {{6, 7, 1}, {5, 0, -2}, {0, 0, 100}};
    EXPECT_EQ(MPI_Group_range_incl(world, 3, ranges, &made), MPI_SUCCESS);
    EXPECT_EQ(taken(made), (int_list{6, 7, 5, 3, 1, 0}));
    EXPECT_EQ(MPI_Group_range_excl(world, 3, ranges, &made), MPI_SUCCESS);
    EXPECT_EQ(taken(made), (int_list{2, 4}));
    EXPECT_EQ(MPI_Group_range_incl(world, 0, ranges, &made), MPI_SUCCESS);
    EXPECT_EQ(made, MPI_GROUP_EMPTY);
    int twice[][3] = {{0, 4, 2}, {4, 5, 1}}, standing[][3] = {{0, 4, 0}}, away[][3] = {{4, 0, 1}},
        far[][3] = {{0, 8, 4}};
    EXPECT_EQ(MPI_Group_range_incl(world, 2, twice, &made), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Group_range_excl(world, 2, twice, &made), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Group_range_incl(world, 1, standing, &made), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Group_range_incl(world, 1, away, &made), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Group_range_incl(world, 1, far, &made), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Group_free(&world), MPI_SUCCESS);
  });
}

TEST(mpi_groups, unions_keep_the_first_groups_order_and_add_what_the_second_has) {
  run_ranks(6, [](numbers_of_rank) {
    MPI_Group world = group_of_world(), a = included(world, {3, 1, 5}), b = included(world, {0, 5, 3}), made{};
    EXPECT_EQ(MPI_Group_union(a, b, &made), MPI_SUCCESS);
    EXPECT_EQ(taken(made), (int_list{3, 1, 5, 0}));
    EXPECT_EQ(MPI_Group_union(b, a, &made), MPI_SUCCESS);
    EXPECT_EQ(taken(made), (int_list{0, 5, 3, 1}));
    EXPECT_EQ(MPI_Group_intersection(a, b, &made), MPI_SUCCESS);
    EXPECT_EQ(taken(made), (int_list{3, 5}));
    EXPECT_EQ(MPI_Group_difference(a, b, &made), MPI_SUCCESS);
    EXPECT_EQ(taken(made), (int_list{1}));
    EXPECT_EQ(MPI_Group_difference(a, a, &made), MPI_SUCCESS);
    EXPECT_EQ(made, MPI_GROUP_EMPTY);
    EXPECT_EQ(MPI_Group_union(MPI_GROUP_EMPTY, b, &made), MPI_SUCCESS);
    EXPECT_EQ(taken(made), (int_list{0, 5, 3}));
    EXPECT_EQ(MPI_Group_intersection(MPI_GROUP_EMPTY, b, &made), MPI_SUCCESS);
    EXPECT_EQ(made, MPI_GROUP_EMPTY);
    EXPECT_EQ(MPI_Group_free(&made), MPI_SUCCESS) << "a result may be freed whether it is empty or not";
    for (MPI_Group* each : {&world, &a, &b}) EXPECT_EQ(MPI_Group_free(each), MPI_SUCCESS);
  });
}

TEST(mpi_groups, are_identical_similar_or_unequal) {
  run_ranks(4, [](numbers_of_rank) {
    MPI_Group world = group_of_world(), again = group_of_world(), turned = included(world, {3, 2, 1, 0}),
              fewer = included(world, {3, 2, 1});
    const auto compared = [](MPI_Group a, MPI_Group b) {
      int out = -1;
      EXPECT_EQ(MPI_Group_compare(a, b, &out), MPI_SUCCESS);
      return out;
    };
    EXPECT_EQ(compared(world, again), MPI_IDENT);
    EXPECT_EQ(compared(world, turned), MPI_SIMILAR);
    EXPECT_EQ(compared(turned, fewer), MPI_UNEQUAL);
    EXPECT_EQ(compared(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY), MPI_IDENT);
    EXPECT_EQ(compared(MPI_GROUP_EMPTY, world), MPI_UNEQUAL);
    for (MPI_Group* each : {&world, &again, &turned, &fewer}) EXPECT_EQ(MPI_Group_free(each), MPI_SUCCESS);
  });
}

TEST(mpi_groups, translate_ranks_which_the_other_group_may_lack) {
  run_ranks(40, [](numbers_of_rank mine) {
    if (mine.rank != 0) return;
    MPI_Group world = group_of_world(), far = included(world, {39, 0}), near = included(world, {7, 0, 5});
    const int_list from{0, MPI_PROC_NULL, 1};
    int_list out(3);
    EXPECT_EQ(MPI_Group_translate_ranks(far, 3, from.data(), near, out.data()), MPI_SUCCESS);
    EXPECT_EQ(out, (int_list{MPI_UNDEFINED, MPI_PROC_NULL, 1}));
    EXPECT_EQ(MPI_Group_translate_ranks(near, 3, int_list{2, 1, 0}.data(), far, out.data()), MPI_SUCCESS);
    EXPECT_EQ(out, (int_list{MPI_UNDEFINED, 1, MPI_UNDEFINED}));
    EXPECT_EQ(MPI_Group_translate_ranks(near, 3, int_list{2, 1, 0}.data(), world, out.data()), MPI_SUCCESS);
    EXPECT_EQ(out, (int_list{5, 0, 7}));
    EXPECT_EQ(MPI_Group_translate_ranks(near, 1, int_list{3}.data(), far, out.data()), MPI_ERR_RANK);
    for (MPI_Group* each : {&world, &far, &near}) EXPECT_EQ(MPI_Group_free(each), MPI_SUCCESS);
  });
}

TEST(mpi_groups, refuse_wrong_arguments) {
  run_ranks(2, [](numbers_of_rank) {
    MPI_Group world = group_of_world(), made = MPI_GROUP_NULL;
    int number = 0;
    EXPECT_EQ(MPI_Group_size(MPI_GROUP_NULL, &number), MPI_ERR_GROUP);
    EXPECT_EQ(MPI_Group_rank(MPI_GROUP_NULL, &number), MPI_ERR_GROUP);
    EXPECT_EQ(MPI_Group_union(world, MPI_GROUP_NULL, &made), MPI_ERR_GROUP);
    EXPECT_EQ(MPI_Group_free(&made), MPI_ERR_GROUP);
    EXPECT_EQ(MPI_Group_incl(world, 1, int_list{2}.data(), &made), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Group_incl(world, 1, int_list{-1}.data(), &made), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Group_incl(world, 2, int_list{1, 1}.data(), &made), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Group_excl(world, 2, int_list{0, 0}.data(), &made), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Group_incl(world, -1, int_list{0}.data(), &made), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Group_incl(world, 1, nullptr, &made), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Group_incl(world, 1, int_list{0}.data(), nullptr), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Group_size(MPI_GROUP_EMPTY, &number), MPI_SUCCESS);
    EXPECT_EQ(number, 0);
    EXPECT_EQ(MPI_Group_rank(MPI_GROUP_EMPTY, &number), MPI_SUCCESS);
    EXPECT_EQ(number, MPI_UNDEFINED);
    EXPECT_EQ(MPI_Group_free(&world), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
