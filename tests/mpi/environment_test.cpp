// SPDX-License-Identifier: BSD-3-Clause
// Start and end, memory, inquiries, and handles as integers (MPI 5.0, chapters 9, 11 and 20.5).
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "mpi/ranks.hpp"
#include "support/random_seed.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

int flag_of(int (*function)(int*)) {
  int out = -1;
  EXPECT_EQ(function(&out), MPI_SUCCESS);
  return out;
}

TEST(mpi_environment, initialized_and_finalized_say_where_the_rank_is) {
  test::local_job{2}.run([](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    EXPECT_EQ(flag_of(MPI_Initialized), 0);
    EXPECT_EQ(flag_of(MPI_Finalized), 0);
    int level = -1;
    EXPECT_EQ(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), MPI_SUCCESS);
    EXPECT_EQ(level, MPI_THREAD_SERIALIZED);
    EXPECT_EQ(MPI_Query_thread(&level), MPI_SUCCESS);
    EXPECT_EQ(level, MPI_THREAD_SERIALIZED);
    EXPECT_EQ(flag_of(MPI_Initialized), 1);
    EXPECT_EQ(flag_of(MPI_Finalized), 0);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_ERR_OTHER);
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    EXPECT_EQ(flag_of(MPI_Initialized), 1);
    EXPECT_EQ(flag_of(MPI_Finalized), 1);
    mpi::be_thread_of(nullptr);
  });
}

TEST(mpi_environment, only_the_thread_that_called_init_is_the_main_one) {
  test::local_job{1}.run([](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    int level = 0;
    EXPECT_EQ(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), MPI_SUCCESS);
    EXPECT_EQ(flag_of(MPI_Is_thread_main), 1);
    std::thread{[&slot] {
      mpi::be_thread_of(&slot);
      EXPECT_EQ(flag_of(MPI_Is_thread_main), 0);
      mpi::be_thread_of(nullptr);
    }}.join();
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    mpi::be_thread_of(nullptr);
  });
}

TEST(mpi_environment, finalize_delivers_what_was_sent) {
  std::promise<void> has_sent;
  const std::future<void> sent = has_sent.get_future();
  std::vector<int> numbers(300'000, 5);
  run_ranks(2, [&](numbers_of_rank mine) {
    EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);  // over a network, first contact needs both ranks
    if (mine.rank == 0) {  // sends what fits into the ring, and one that needs its peer, and calls MPI_Finalize
      MPI_Request request = MPI_REQUEST_NULL;
      for (int tag = 0; tag < 20; ++tag)
        EXPECT_EQ(MPI_Send(numbers.data(), 1, MPI_INT, 1, tag, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(MPI_Isend(numbers.data(), 300'000, MPI_INT, 1, 20, MPI_COMM_WORLD, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      has_sent.set_value();
      return;
    }
    EXPECT_EQ(sent.wait_for(std::chrono::seconds{100}), std::future_status::ready);
    std::vector<int> received(numbers.size());
    for (int tag = 20; tag >= 0; --tag) {
      received[0] = 0;
      EXPECT_EQ(MPI_Recv(received.data(), 300'000, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(received[0], 5);
    }
    EXPECT_EQ(received, numbers);
  });
}

TEST(mpi_environment, memory_is_aligned_as_the_info_says) {
  run_ranks(1, [](numbers_of_rank) {
    void* memory = nullptr;
    EXPECT_EQ(MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory), MPI_SUCCESS);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 1, 1000);
    EXPECT_EQ(MPI_Free_mem(memory), MPI_SUCCESS);
    MPI_Info hints = MPI_INFO_NULL;
    EXPECT_EQ(MPI_Info_create(&hints), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_set(hints, "mpi_minimum_memory_alignment", "8192"), MPI_SUCCESS);
    EXPECT_EQ(MPI_Alloc_mem(0, hints, &memory), MPI_SUCCESS);
    EXPECT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 8192, 0u);
    EXPECT_EQ(MPI_Free_mem(memory), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_free(&hints), MPI_SUCCESS);
    EXPECT_EQ(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Alloc_mem(1, MPI_INFO_NULL, nullptr), MPI_ERR_ARG);
    // Sanitizers end a program that asks for so much.
    if (!test::under_sanitizer) {
      EXPECT_EQ(MPI_Alloc_mem(MPI_Aint{1} << 60, MPI_INFO_NULL, &memory), MPI_ERR_NO_MEM);
    }
  });
}

TEST(mpi_environment, kinds_of_hardware_say_whether_the_process_is_restricted_to_one) {  // MPI 5.0, 9.1.2
  run_ranks(1, [](numbers_of_rank) {
    MPI_Info found = MPI_INFO_NULL;
    EXPECT_EQ(MPI_Get_hw_resource_info(&found), MPI_SUCCESS);
    int count = 0;
    EXPECT_EQ(MPI_Info_get_nkeys(found, &count), MPI_SUCCESS);
    EXPECT_GT(count, 0);
    for (int each = 0; each < count; ++each) {
      std::array<char, MPI_MAX_INFO_KEY> key{};
      std::array<char, 8> value{};
      int length = 8, flag = 0;
      EXPECT_EQ(MPI_Info_get_nthkey(found, each, key.data()), MPI_SUCCESS);
      EXPECT_EQ(MPI_Info_get_string(found, key.data(), &length, value.data(), &flag), MPI_SUCCESS);
      EXPECT_EQ(std::string{key.data()}.find("hwloc://"), 0u);
      EXPECT_TRUE(std::string{value.data()} == "true" || std::string{value.data()} == "false");
      // A key is one that MPI_Comm_split_type takes.
      MPI_Info hints = MPI_INFO_NULL;
      MPI_Comm made = MPI_COMM_NULL;
      EXPECT_EQ(MPI_Info_create(&hints), MPI_SUCCESS);
      EXPECT_EQ(MPI_Info_set(hints, "mpi_hw_resource_type", key.data()), MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, hints, &made), MPI_SUCCESS);
      EXPECT_EQ(made != MPI_COMM_NULL, std::string{value.data()} == "true");
      if (made != MPI_COMM_NULL) {
        EXPECT_EQ(MPI_Comm_free(&made), MPI_SUCCESS);
      }
      EXPECT_EQ(MPI_Info_free(&hints), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Info_free(&found), MPI_SUCCESS);
  });
}

TEST(mpi_environment, inquiries_have_answers) {
  run_ranks(1, [](numbers_of_rank) {
    int version = 0, subversion = -1, length = 0;
    EXPECT_EQ(MPI_Get_version(&version, &subversion), MPI_SUCCESS);
    EXPECT_EQ(version, 5);
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    EXPECT_EQ(MPI_Get_library_version(text.data(), &length), MPI_SUCCESS);
    EXPECT_EQ(std::strlen(text.data()), static_cast<std::size_t>(length));
    EXPECT_EQ(MPI_Get_processor_name(text.data(), &length), MPI_SUCCESS);
    EXPECT_EQ(std::strlen(text.data()), static_cast<std::size_t>(length));
    const double before = MPI_Wtime();
    EXPECT_GE(MPI_Wtime(), before);
    EXPECT_GT(MPI_Wtick(), 0);
    EXPECT_LT(MPI_Wtick(), 1e-3);
    EXPECT_EQ(MPI_Pcontrol(1), MPI_SUCCESS);
    EXPECT_EQ(MPI_Pcontrol(2, "more", 3), MPI_SUCCESS);
  });
}

TEST(mpi_environment, predefined_handles_are_their_numbers_and_others_keep_theirs) {
  run_ranks(1, [](numbers_of_rank) {
    EXPECT_EQ(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
    EXPECT_EQ(MPI_Comm_fromint(0x102), MPI_COMM_SELF);
    EXPECT_EQ(MPI_Type_toint(MPI_INT), 0x209);
    EXPECT_EQ(MPI_Type_fromint(0x209), MPI_INT);
    EXPECT_EQ(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)), MPI_SUM);
    EXPECT_EQ(MPI_Group_fromint(MPI_Group_toint(MPI_GROUP_EMPTY)), MPI_GROUP_EMPTY);
    EXPECT_EQ(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)), MPI_ERRORS_RETURN);
    EXPECT_EQ(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)), MPI_MESSAGE_NO_PROC);
    EXPECT_EQ(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)), MPI_REQUEST_NULL);
    EXPECT_EQ(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)), MPI_WIN_NULL);
    EXPECT_EQ(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)), MPI_FILE_NULL);
    EXPECT_EQ(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)), MPI_SESSION_NULL);
    MPI_Info one = MPI_INFO_NULL, two = MPI_INFO_NULL;
    EXPECT_EQ(MPI_Info_create(&one), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_create(&two), MPI_SUCCESS);
    const int number = MPI_Info_toint(one);
    EXPECT_GE(number, 0x1000);
    EXPECT_NE(MPI_Info_toint(two), number);
    EXPECT_EQ(MPI_Info_toint(one), number);
    EXPECT_EQ(MPI_Info_fromint(number), one);
    EXPECT_EQ(MPI_Info_free(&one), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_free(&two), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
