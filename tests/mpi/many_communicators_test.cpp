// SPDX-License-Identifier: BSD-3-Clause
// Communicators by number: held together, made and freed again and again, made by several threads at the same time; and
// parts of communicators by hardware.
#include <malloc.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "mpi/communicator/machines.hpp"
#include "mpi/ranks.hpp"
#include "support/random_seed.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

constexpr int slower = test::under_sanitizer ? 10 : 1;

// Allocated by this process; 0 under sanitizers, whose allocators count nothing.
std::size_t bytes_in_use() {
  if (test::under_sanitizer) return 0;
  return ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
}

int sum_of_ones(MPI_Comm comm) {
  const int one = 1;
  int out = 0;
  EXPECT_EQ(MPI_Allreduce(&one, &out, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  return out;
}

// A message of this rank to itself, among the last ones that it holds.
int own_message(MPI_Comm comm, int value) {
  int rank = -1, got = -1;
  EXPECT_EQ(MPI_Comm_rank(comm, &rank), MPI_SUCCESS);
  EXPECT_EQ(
      MPI_Sendrecv(&value, 1, MPI_INT, rank, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE),
      MPI_SUCCESS);
  return got;
}

TEST(mpi_many_communicators, ten_thousand_are_held_together) {
  run_ranks(2, [](numbers_of_rank) {
    std::vector<MPI_Comm> held(10'000 / slower);
    for (MPI_Comm& each : held) ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &each), MPI_SUCCESS);
    for (std::size_t index = 0; index < held.size(); index += 501) {
      EXPECT_EQ(own_message(held[index], static_cast<int>(index)), static_cast<int>(index));
      EXPECT_EQ(sum_of_ones(held[index]), 2);
    }
    for (MPI_Comm& each : held) ASSERT_EQ(MPI_Comm_free(&each), MPI_SUCCESS);
  });
}

TEST(mpi_many_communicators, a_hundred_thousand_that_are_made_and_freed_leave_memory_as_it_was) {
  run_ranks(1, [](numbers_of_rank) {
    const auto make_and_free = [](int times) {
      for (int time = 0; time < times; ++time) {
        MPI_Comm copy = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &copy), MPI_SUCCESS);
        ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
      }
    };
    make_and_free(1000);
    const std::size_t before = bytes_in_use();
    make_and_free(100'000 / slower);
    EXPECT_LE(bytes_in_use(), before + 64 * 1024);
  });
}

// Rank 0 gives ids to communicators of its own between those of all, so the other rank is in every second one of them.
TEST(mpi_many_communicators, of_other_members_leave_no_memory_behind) {
  run_ranks(2, [](numbers_of_rank) {
    const auto make_and_free = [](int times) {
      for (int time = 0; time < times; ++time) {
        MPI_Comm all = MPI_COMM_NULL, own = MPI_COMM_NULL, part = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &all), MPI_SUCCESS);
        ASSERT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &own), MPI_SUCCESS);
        ASSERT_EQ(MPI_Comm_split(all, 0, 0, &part), MPI_SUCCESS);
        for (MPI_Comm* const each : {&part, &own, &all}) ASSERT_EQ(MPI_Comm_free(each), MPI_SUCCESS);
      }
    };
    make_and_free(500);
    const std::size_t before = bytes_in_use();
    make_and_free(5000 / slower);
    EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_LE(bytes_in_use(), before + 100'000) << "it was 240 kB at the other rank";
  });
}

// The first member of each group gives ids to groups of several threads.
TEST(mpi_many_communicators, threads_make_them_at_the_same_time_and_never_get_one_id_twice) {
  constexpr int threads = 3, rounds = 20;
  test::local_job{3}.run([](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    int provided = 0, rank = 0;
    EXPECT_EQ(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    EXPECT_EQ(provided, MPI_THREAD_MULTIPLE);
    EXPECT_EQ(MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_SUCCESS);
    MPI_Group world{};
    EXPECT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &world), MPI_SUCCESS);
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) {
      all.emplace_back([&slot, world, thread] {
        mpi::be_thread_of(&slot);
        MPI_Comm own{};
        EXPECT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, world, thread, &own), MPI_SUCCESS);
        for (int round = 0; round < rounds / (test::under_sanitizer ? 4 : 1); ++round) {
          MPI_Comm copy{}, again{}, later{}, part{};
          MPI_Request request{};
          EXPECT_EQ(MPI_Comm_dup(own, &copy), MPI_SUCCESS);
          EXPECT_EQ(MPI_Comm_idup(own, &later, &request), MPI_SUCCESS);
          EXPECT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, world, thread, &again), MPI_SUCCESS);
          EXPECT_EQ(MPI_Comm_split(copy, 0, 0, &part), MPI_SUCCESS);
          EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
          for (MPI_Comm* each : {&copy, &again, &later, &part}) {
            EXPECT_EQ(sum_of_ones(*each), 3);
            EXPECT_EQ(own_message(*each, thread), thread);
            EXPECT_EQ(MPI_Comm_free(each), MPI_SUCCESS);
          }
        }
        EXPECT_EQ(MPI_Comm_free(&own), MPI_SUCCESS);
        mpi::be_thread_of(nullptr);
      });
    }
    for (std::thread& each : all) each.join();
    EXPECT_EQ(MPI_Group_free(&world), MPI_SUCCESS);
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    mpi::be_thread_of(nullptr);
  });
}

MPI_Comm part_of_world(int type, const char* resource = nullptr) {
  MPI_Info info = MPI_INFO_NULL;
  if (resource != nullptr) {
    EXPECT_EQ(MPI_Info_create(&info), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_set(info, "mpi_hw_resource_type", resource), MPI_SUCCESS);
  }
  MPI_Comm out = MPI_COMM_WORLD;
  EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &out), MPI_SUCCESS);
  if (resource != nullptr) {
    EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
  }
  return out;
}

// The size of a part; 0: none.
int taken_size(MPI_Comm part) {
  if (part == MPI_COMM_NULL) return 0;
  int out = -1;
  EXPECT_EQ(MPI_Comm_size(part, &out), MPI_SUCCESS);
  EXPECT_EQ(sum_of_ones(part), out);
  EXPECT_EQ(MPI_Comm_free(&part), MPI_SUCCESS);
  return out;
}

TEST(mpi_many_communicators, split_types_find_shared_memory_and_hardware_by_its_name) {
  run_ranks(3, [](numbers_of_rank mine) {
    EXPECT_EQ(taken_size(part_of_world(MPI_COMM_TYPE_SHARED)), 3);
    EXPECT_EQ(taken_size(part_of_world(mine.rank == 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED)), mine.rank == 1 ? 0 : 2);
    EXPECT_EQ(taken_size(part_of_world(MPI_COMM_TYPE_HW_GUIDED, "mpi_shared_memory")), 3);
    EXPECT_EQ(taken_size(part_of_world(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_shared_memory")), 3);
    EXPECT_EQ(taken_size(part_of_world(MPI_COMM_TYPE_HW_GUIDED)), 0) << "no info names a resource";
    EXPECT_EQ(taken_size(part_of_world(MPI_COMM_TYPE_HW_GUIDED, "no such resource")), 0);
    // The ranks are threads of one process, which may run on the same processors.
    for (const char* each : {"Package", "NUMANode", "L3Cache", "hwloc://L2Cache", "Core", "PU"}) {
      const int size = taken_size(part_of_world(MPI_COMM_TYPE_HW_GUIDED, each));
      EXPECT_TRUE(size == 0 || size == 3) << each << ": " << size;
    }
    EXPECT_EQ(taken_size(part_of_world(MPI_COMM_TYPE_HW_UNGUIDED)), 0) << "no resource is smaller than the whole";
    EXPECT_EQ(taken_size(part_of_world(mine.rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED)),
              mine.rank == 0 ? 0 : 2);
    MPI_Comm made{};
    MPI_Info found{};
    EXPECT_EQ(MPI_Info_create(&found), MPI_SUCCESS);
    const int type = mine.rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED;
    EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, found, &made), MPI_SUCCESS);
    EXPECT_EQ(taken_size(made), mine.rank == 0 ? 0 : 2);
    std::array<char, 40> kind{};
    int length = static_cast<int>(kind.size()), is_there = 0;
    EXPECT_EQ(MPI_Info_get_string(found, "mpi_hw_resource_type", &length, kind.data(), &is_there), MPI_SUCCESS);
    EXPECT_STREQ(kind.data(), mine.rank == 0 ? "" : "mpi_shared_memory");
    EXPECT_EQ(MPI_Info_free(&found), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, 1, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_NULL, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made), MPI_ERR_COMM);
  });
}

TEST(mpi_many_communicators, a_part_by_type_has_the_hints_of_the_info) {
  run_ranks(2, [](numbers_of_rank) {
    MPI_Info given = MPI_INFO_NULL, found = MPI_INFO_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Info_create(&given), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_set(given, "mpi_assert_exact_length", "true"), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, given, &made), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_free(&given), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_get_info(made, &found), MPI_SUCCESS);
    for (const char* key : {"mpi_assert_exact_length", "mpi_assert_no_any_tag"}) {
      std::array<char, 8> value{};
      int length = 8, flag = 0;
      EXPECT_EQ(MPI_Info_get_string(found, key, &length, value.data(), &flag), MPI_SUCCESS);
      EXPECT_STREQ(value.data(), std::string_view{key} == "mpi_assert_exact_length" ? "true" : "false");
    }
    EXPECT_EQ(MPI_Info_free(&found), MPI_SUCCESS);
    EXPECT_EQ(taken_size(made), 2);
  });
}

TEST(mpi_many_communicators, members_with_a_machine_or_a_node_in_common_are_on_one_machine) {
  using members = std::vector<mpi::machine_of_member>;
  using numbers = std::vector<std::uint32_t>;
  const auto of = [](const members& all) { return mpi::numbers_of_machines(all); };
  EXPECT_EQ(of({}), numbers{});
  EXPECT_EQ(of({{7, 0}, {7, 1}, {8, 2}, {7, 3}}), (numbers{0, 0, 2, 0})) << "a transport without shared memory";
  EXPECT_EQ(of({{7, 0}, {8, 1}, {9, 0}, {8, 2}}), (numbers{0, 1, 0, 1})) << "containers that share memory";
  EXPECT_EQ(of({{0, 0}, {0, 1}, {0, 0}}), (numbers{0, 1, 0})) << "no machine is known";
  EXPECT_EQ(of({{7, 0}, {8, 1}, {9, 2}, {9, 1}, {7, 2}}), (numbers{0, 0, 0, 0, 0})) << "all by way of others";
  EXPECT_EQ(mpi::own_machine(), mpi::own_machine());
}

}  // namespace
}  // namespace weft
