// SPDX-License-Identifier: BSD-3-Clause
// Communicators (MPI 5.0, 7.4): how they are made, and their end.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// This rank in a communicator, and its size.
numbers_of_rank numbers_in(MPI_Comm comm) {
  numbers_of_rank out{};
  EXPECT_EQ(MPI_Comm_rank(comm, &out.rank), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_size(comm, &out.size), MPI_SUCCESS);
  return out;
}

// The sum over a communicator of each member's rank in MPI_COMM_WORLD.
int sum_over(MPI_Comm comm, int own) {
  int out = 0;
  EXPECT_EQ(MPI_Allreduce(&own, &out, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  return out;
}

// A message around the ring of all members, with its rank in MPI_COMM_WORLD. Returns the source's.
int around(MPI_Comm comm, int own) {
  const numbers_of_rank mine = numbers_in(comm);
  int got = -1;
  EXPECT_EQ(MPI_Sendrecv(&own, 1, MPI_INT, (mine.rank + 1) % mine.size, 3, &got, 1, MPI_INT,
                         (mine.rank + mine.size - 1) % mine.size, 3, comm, MPI_STATUS_IGNORE),
            MPI_SUCCESS);
  return got;
}

int compared(MPI_Comm a, MPI_Comm b) {
  int out = -1;
  EXPECT_EQ(MPI_Comm_compare(a, b, &out), MPI_SUCCESS);
  return out;
}

MPI_Comm duplicate_of(MPI_Comm comm) {
  MPI_Comm out = MPI_COMM_NULL;
  EXPECT_EQ(MPI_Comm_dup(comm, &out), MPI_SUCCESS);
  return out;
}

void free_one(MPI_Comm comm) {
  EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  EXPECT_EQ(comm, MPI_COMM_NULL);
}

TEST(mpi_communicators, a_duplicate_has_the_members_and_messages_of_its_own) {
  run_ranks(3, [](numbers_of_rank mine) {
    MPI_Comm copy = duplicate_of(MPI_COMM_WORLD);
    EXPECT_EQ(compared(copy, MPI_COMM_WORLD), MPI_CONGRUENT);
    EXPECT_EQ(compared(copy, copy), MPI_IDENT);
    EXPECT_EQ(numbers_in(copy).rank, mine.rank);
    // The older message is in the other communicator.
    const int next = (mine.rank + 1) % 3, before = (mine.rank + 2) % 3;
    const int in_world = 1, in_copy = 2;
    int got = 0;
    EXPECT_EQ(MPI_Send(&in_world, 1, MPI_INT, next, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send(&in_copy, 1, MPI_INT, next, 0, copy), MPI_SUCCESS);
    EXPECT_EQ(MPI_Recv(&got, 1, MPI_INT, before, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got, in_copy);
    EXPECT_EQ(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got, in_world);
    MPI_Comm second = duplicate_of(copy);
    EXPECT_EQ(sum_over(second, mine.rank), 3);
    free_one(copy);
    EXPECT_EQ(around(second, mine.rank), before);
    free_one(second);
    MPI_Comm alone = duplicate_of(MPI_COMM_SELF);
    EXPECT_EQ(around(alone, mine.rank), mine.rank);
    EXPECT_EQ(compared(alone, MPI_COMM_WORLD), MPI_UNEQUAL);
    free_one(alone);
  });
}

TEST(mpi_communicators, a_split_orders_members_by_key_and_rank_and_leaves_out_who_names_no_color) {
  run_ranks(7, [](numbers_of_rank mine) {
    // Ranks 0, 2, 4 in descending order; 1, 3, 5 in the old one; 6 in none.
    const int color = mine.rank == 6 ? MPI_UNDEFINED : mine.rank % 2;
    MPI_Comm part = MPI_COMM_WORLD;
    EXPECT_EQ(MPI_Comm_split(MPI_COMM_WORLD, color, color == 0 ? -mine.rank : 7, &part), MPI_SUCCESS);
    if (mine.rank == 6) {
      EXPECT_EQ(part, MPI_COMM_NULL);
      return;
    }
    const numbers_of_rank inside = numbers_in(part);
    EXPECT_EQ(inside.size, 3);
    EXPECT_EQ(inside.rank, color == 0 ? 2 - mine.rank / 2 : mine.rank / 2);
    EXPECT_EQ(sum_over(part, mine.rank), color == 0 ? 6 : 9);
    const std::array<int, 7> sources{2, 5, 4, 1, 0, 3, -1};
    EXPECT_EQ(around(part, mine.rank), sources[static_cast<std::size_t>(mine.rank)]);
    MPI_Status status;
    const int value = mine.rank;
    int got = -1;
    if (inside.rank == 1) {
      EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, 0, 5, part), MPI_SUCCESS);
    }
    if (inside.rank == 0) {
      EXPECT_EQ(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, part, &status), MPI_SUCCESS);
      EXPECT_EQ(status.MPI_SOURCE, 1);
    }
    free_one(part);
  });
}

TEST(mpi_communicators, of_groups_are_made_by_all_members_of_the_old_one_for_several_groups_together) {
  run_ranks(5, [](numbers_of_rank mine) {
    MPI_Group world{}, mine_too{};
    EXPECT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &world), MPI_SUCCESS);
    const std::vector<int> pair{3, 0}, single{2};
    if (mine.rank == 0 || mine.rank == 3) {
      EXPECT_EQ(MPI_Group_incl(world, 2, pair.data(), &mine_too), MPI_SUCCESS);
    }
    if (mine.rank == 2) {
      EXPECT_EQ(MPI_Group_incl(world, 1, single.data(), &mine_too), MPI_SUCCESS);
    }
    if (mine.rank == 1) mine_too = MPI_GROUP_EMPTY;
    if (mine.rank == 4) {  // without itself
      EXPECT_EQ(MPI_Group_incl(world, 2, pair.data(), &mine_too), MPI_SUCCESS);
    }
    MPI_Comm made = MPI_COMM_WORLD;
    EXPECT_EQ(MPI_Comm_create(MPI_COMM_WORLD, mine_too, &made), MPI_SUCCESS);
    EXPECT_EQ(made == MPI_COMM_NULL, mine.rank == 1 || mine.rank == 4);
    if (made != MPI_COMM_NULL) {
      EXPECT_EQ(numbers_in(made).size, mine.rank == 2 ? 1 : 2);
      EXPECT_EQ(numbers_in(made).rank, mine.rank == 0 ? 1 : 0);
      EXPECT_EQ(sum_over(made, mine.rank), mine.rank == 2 ? 2 : 3);
      MPI_Group again{};
      int result = -1;
      EXPECT_EQ(MPI_Comm_group(made, &again), MPI_SUCCESS);
      EXPECT_EQ(MPI_Group_compare(again, mine_too, &result), MPI_SUCCESS);
      EXPECT_EQ(result, MPI_IDENT);
      EXPECT_EQ(MPI_Group_free(&again), MPI_SUCCESS);
      free_one(made);
    }
    EXPECT_EQ(MPI_Group_free(&mine_too), MPI_SUCCESS);
    EXPECT_EQ(MPI_Group_free(&world), MPI_SUCCESS);
  });
}

TEST(mpi_communicators, of_a_group_are_made_by_its_members_alone) {
  run_ranks(9, [](numbers_of_rank mine) {
    if (mine.rank == 4) return;
    MPI_Group world{}, others{};
    EXPECT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &world), MPI_SUCCESS);
    const std::vector<int> out{4};
    EXPECT_EQ(MPI_Group_excl(world, 1, out.data(), &others), MPI_SUCCESS);
    MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, others, 11, &first), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_create_group(first, others, 11, &second), MPI_SUCCESS);
    EXPECT_EQ(sum_over(second, mine.rank), 32);
    EXPECT_EQ(around(first, mine.rank), mine.rank == 0 ? 8 : mine.rank == 5 ? 3 : mine.rank - 1);
    free_one(first);
    free_one(second);
    EXPECT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, 0, &first), MPI_SUCCESS);
    EXPECT_EQ(first, MPI_COMM_NULL);
    EXPECT_EQ(MPI_Group_free(&others), MPI_SUCCESS);
    EXPECT_EQ(MPI_Group_free(&world), MPI_SUCCESS);
  });
}

TEST(mpi_communicators, a_duplicate_without_waiting_completes_as_a_request) {
  run_ranks(3, [](numbers_of_rank mine) {
    MPI_Comm copy = MPI_COMM_NULL, second = MPI_COMM_NULL, third = MPI_COMM_NULL;
    MPI_Request requests[3];
    // Rank 2 begins only when rank 1 has a message of rank 0, which that sends after its calls.
    int token = 0;
    if (mine.rank == 2) {
      EXPECT_EQ(MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_idup(MPI_COMM_WORLD, &second, &requests[1]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_idup(MPI_COMM_SELF, &third, &requests[2]), MPI_SUCCESS);
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    if (mine.rank == 1) {
      EXPECT_EQ(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(compared(copy, MPI_COMM_WORLD), MPI_CONGRUENT);
    EXPECT_EQ(compared(copy, second), MPI_CONGRUENT);
    EXPECT_EQ(sum_over(copy, mine.rank), 3);
    EXPECT_EQ(sum_over(second, mine.rank), 3);
    EXPECT_EQ(around(second, mine.rank), (mine.rank + 2) % 3);
    EXPECT_EQ(numbers_in(third).size, 1);
    for (MPI_Comm each : {copy, second, third}) free_one(each);
  });
}

TEST(mpi_communicators, that_are_freed_with_requests_under_way_still_complete_them) {
  run_ranks(2, [](numbers_of_rank mine) {
    const int other = 1 - mine.rank;
    std::vector<int> long_out(100'000, mine.rank), long_in(100'000, -1);
    int shorter = mine.rank, got = -1;
    MPI_Comm comm = duplicate_of(MPI_COMM_WORLD);
    MPI_Request requests[4];
    EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, other, 1, comm, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Irecv(long_in.data(), 100'000, MPI_INT, other, 2, comm, &requests[1]), MPI_SUCCESS);
    if (mine.rank == 1) {
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Isend(&shorter, 1, MPI_INT, other, 1, comm, &requests[2]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Isend(long_out.data(), 100'000, MPI_INT, other, 2, comm, &requests[3]), MPI_SUCCESS);
    free_one(comm);
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    }
    // The memory of communicators that have ended is given back now, but not this one's.
    free_one(duplicate_of(MPI_COMM_SELF));
    EXPECT_EQ(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got, other);
    EXPECT_EQ(long_in, std::vector<int>(100'000, other));
    EXPECT_EQ(mpi::current_rank()->communicators.count(), 1U);
    free_one(duplicate_of(MPI_COMM_SELF));
    EXPECT_EQ(mpi::current_rank()->communicators.count(), 0U);
  });
}

TEST(mpi_communicators, inherit_the_error_handler_which_is_called_for_their_requests_after_their_end) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Comm copy = duplicate_of(MPI_COMM_SELF);
    MPI_Errhandler handler{};
    EXPECT_EQ(MPI_Comm_get_errhandler(copy, &handler), MPI_SUCCESS);
    EXPECT_EQ(handler, MPI_ERRORS_RETURN);
    const std::array<int, 2> sent{1, 2};
    int got = 0;
    MPI_Request request{};
    EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, 0, 0, copy, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send(sent.data(), 2, MPI_INT, 0, 0, copy), MPI_SUCCESS);
    free_one(copy);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  });
}

// An info with the assertions that allow an unordered engine.
MPI_Info unordered_info() {
  MPI_Info out = MPI_INFO_NULL;
  EXPECT_EQ(MPI_Info_create(&out), MPI_SUCCESS);
  for (const char* each : {"mpi_assert_allow_overtaking", "mpi_assert_no_any_source", "mpi_assert_no_any_tag"}) {
    EXPECT_EQ(MPI_Info_set(out, each, "true"), MPI_SUCCESS);
  }
  return out;
}

TEST(mpi_communicators, are_unordered_where_all_members_assert_that_they_need_no_order_and_no_wildcards) {
  run_ranks(3, [](numbers_of_rank mine) {
    MPI_Info info = unordered_info();
    std::array<MPI_Comm, 4> made{};
    std::array<MPI_Request, 2> requests{};
    EXPECT_EQ(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_dup_with_info(MPI_COMM_WORLD, mine.rank == 1 ? MPI_INFO_NULL : info, &made[1]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &made[2], &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_idup_with_info(MPI_COMM_WORLD, mine.rank == 0 ? MPI_INFO_NULL : info, &made[3], &requests[1]),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (std::size_t index = 0; index < made.size(); ++index) {
      EXPECT_EQ(mpi::find_communicator(*mpi::current_rank(), made[index])->engine.is_ordered(), index % 2 == 1);
      EXPECT_EQ(around(made[index], mine.rank), (mine.rank + 2) % 3);
      EXPECT_EQ(sum_over(made[index], mine.rank), 3);
      free_one(made[index]);
    }
  });
}

TEST(mpi_communicators, have_names_which_their_duplicates_do_not_get) {
  run_ranks(1, [](numbers_of_rank) {
    char text[MPI_MAX_OBJECT_NAME];
    int length = -1;
    EXPECT_EQ(MPI_Comm_get_name(MPI_COMM_WORLD, text, &length), MPI_SUCCESS);
    EXPECT_STREQ(text, "MPI_COMM_WORLD");
    EXPECT_EQ(length, 14);
    EXPECT_EQ(MPI_Comm_get_name(MPI_COMM_SELF, text, &length), MPI_SUCCESS);
    EXPECT_STREQ(text, "MPI_COMM_SELF");
    const std::string name(200, 'n');
    MPI_Comm copy = duplicate_of(MPI_COMM_WORLD);
    EXPECT_EQ(MPI_Comm_get_name(copy, text, &length), MPI_SUCCESS);
    EXPECT_EQ(length, 0);
    EXPECT_EQ(MPI_Comm_set_name(copy, name.c_str()), MPI_SUCCESS);
    MPI_Comm second = duplicate_of(copy);
    EXPECT_EQ(MPI_Comm_get_name(copy, text, &length), MPI_SUCCESS);
    EXPECT_EQ(text, name.substr(0, MPI_MAX_OBJECT_NAME - 1));
    EXPECT_EQ(length, MPI_MAX_OBJECT_NAME - 1);
    EXPECT_EQ(MPI_Comm_get_name(second, text, &length), MPI_SUCCESS);
    EXPECT_STREQ(text, "");
    free_one(copy);
    free_one(second);
  });
}

TEST(mpi_communicators, refuse_wrong_arguments) {
  run_ranks(2, [](numbers_of_rank mine) {
    MPI_Comm made = MPI_COMM_NULL, world = MPI_COMM_WORLD;
    MPI_Group group{};
    int number = 0;
    EXPECT_EQ(MPI_Comm_dup(MPI_COMM_NULL, &made), MPI_ERR_COMM);
    EXPECT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Comm_free(&made), MPI_ERR_COMM);
    EXPECT_EQ(MPI_Comm_free(&world), MPI_ERR_COMM);
    EXPECT_EQ(world, MPI_COMM_WORLD);
    EXPECT_EQ(MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &made), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &made), MPI_ERR_GROUP);
    EXPECT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &group), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_create(MPI_COMM_SELF, group, &made), MPI_ERR_GROUP);
    EXPECT_EQ(MPI_Comm_create_group(MPI_COMM_SELF, group, 0, &made), MPI_ERR_GROUP);
    EXPECT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, group, -1, &made), MPI_ERR_TAG);
    EXPECT_EQ(MPI_Comm_remote_size(MPI_COMM_WORLD, &number), MPI_ERR_COMM);
    MPI_Group remote{};
    EXPECT_EQ(MPI_Comm_remote_group(MPI_COMM_WORLD, &remote), MPI_ERR_COMM);
    EXPECT_EQ(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_NULL, &number), MPI_ERR_COMM);
    EXPECT_EQ(MPI_Comm_set_name(MPI_COMM_SELF, nullptr), MPI_ERR_ARG);
    int flag = 1;
    EXPECT_EQ(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(MPI_Group_free(&group), MPI_SUCCESS);
    EXPECT_EQ(sum_over(MPI_COMM_WORLD, mine.rank), 1);
  });
}

}  // namespace
}  // namespace weft
