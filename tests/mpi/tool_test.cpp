// SPDX-License-Identifier: BSD-3-Clause
// The tool interface without variables (MPI 5.0, 15.3), and what the library tells of its ABI.
#include <array>
#include <cstdint>
#include <string>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// A process of no rank, as before MPI_Init.
template <class Body>
void run_outside(const Body& body) {
  mpi::rank_slot slot;
  mpi::be_thread_of(&slot);
  body();
  mpi::be_thread_of(nullptr);
}

int number_of(int (*function)(int*)) {
  int out = -1;
  EXPECT_EQ(function(&out), MPI_SUCCESS);
  return out;
}

TEST(mpi_tool, it_is_used_between_init_and_finalize_which_are_counted) {
  run_outside([] {
    int level = -1, number = -1;
    EXPECT_EQ(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    EXPECT_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level), MPI_SUCCESS);
    EXPECT_EQ(level, MPI_THREAD_MULTIPLE);
    EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &level), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_cvar_get_num(&number), MPI_SUCCESS);
    EXPECT_EQ(number, 0);
    EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  });
}

TEST(mpi_tool, there_is_nothing_and_each_index_and_name_is_wrong) {
  run_outside([] {
    int level = 0, number = 0, length = 0, bind = 0, count = 0;
    EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &level), MPI_SUCCESS);
    for (int (*const each)(int*) : {MPI_T_cvar_get_num, MPI_T_pvar_get_num, MPI_T_category_get_num, MPI_T_event_get_num,
                                    MPI_T_source_get_num, MPI_T_category_changed})
      EXPECT_EQ(number_of(each), 0);
    EXPECT_EQ(MPI_T_cvar_get_num(nullptr), MPI_T_ERR_INVALID);
    EXPECT_EQ(MPI_T_cvar_get_index("name", &number), MPI_T_ERR_INVALID_NAME);
    EXPECT_EQ(MPI_T_pvar_get_index("name", MPI_T_PVAR_CLASS_STATE, &number), MPI_T_ERR_INVALID_NAME);
    EXPECT_EQ(MPI_T_category_get_index("name", &number), MPI_T_ERR_INVALID_NAME);
    EXPECT_EQ(MPI_T_event_get_index("name", &number), MPI_T_ERR_INVALID_NAME);
    EXPECT_EQ(MPI_T_cvar_get_info(0, nullptr, &length, &number, nullptr, nullptr, nullptr, &length, &bind, &number),
              MPI_T_ERR_INVALID_INDEX);
    EXPECT_EQ(MPI_T_category_get_info(0, nullptr, &length, nullptr, &length, &number, &number, &number),
              MPI_T_ERR_INVALID_INDEX);
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    EXPECT_EQ(MPI_T_cvar_handle_alloc(0, nullptr, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    EXPECT_EQ(MPI_T_cvar_read(handle, &number), MPI_T_ERR_INVALID_HANDLE);
    EXPECT_EQ(MPI_T_cvar_handle_free(&handle), MPI_T_ERR_INVALID_HANDLE);
    EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
  });
}

TEST(mpi_tool, sessions_of_variables_are_made_and_freed_and_hold_no_handle) {
  run_outside([] {
    int level = 0, count = 0;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    EXPECT_EQ(MPI_T_pvar_session_create(&session), MPI_T_ERR_NOT_INITIALIZED);
    EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &level), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
    EXPECT_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    EXPECT_NE(session, MPI_T_PVAR_SESSION_NULL);
    EXPECT_EQ(MPI_T_pvar_handle_alloc(session, 0, nullptr, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    for (int (*const each)(MPI_T_pvar_session, MPI_T_pvar_handle) :
         {MPI_T_pvar_start, MPI_T_pvar_stop, MPI_T_pvar_reset}) {
      EXPECT_EQ(each(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
      EXPECT_EQ(each(session, handle), MPI_T_ERR_INVALID_HANDLE);
    }
    EXPECT_EQ(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &count), MPI_T_ERR_INVALID_HANDLE);
    EXPECT_EQ(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    EXPECT_EQ(session, MPI_T_PVAR_SESSION_NULL);
    EXPECT_EQ(MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION);
    EXPECT_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_pvar_session_free(&session), MPI_T_ERR_NOT_INITIALIZED);
  });
}

TEST(mpi_abi, sizes_and_properties_of_fortran_are_told_at_any_time) {  // MPI 5.0, 20.2 and 20.4.1
  run_outside([] {
    int major = -1, minor = -1, flag = -1, length = 8;
    std::array<char, 8> value{};
    MPI_Info sizes = MPI_INFO_NULL, fortran = MPI_INFO_NULL;
    EXPECT_EQ(MPI_Abi_get_version(&major, &minor), MPI_SUCCESS);
    EXPECT_EQ(major, MPI_ABI_VERSION);
    EXPECT_EQ(MPI_Abi_get_info(&sizes), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_get_string(sizes, "mpi_count_size", &length, value.data(), &flag), MPI_SUCCESS);
    EXPECT_STREQ(value.data(), "8");
    EXPECT_EQ(MPI_Info_free(&sizes), MPI_SUCCESS);
    EXPECT_EQ(MPI_Abi_get_fortran_info(&fortran), MPI_SUCCESS);
    EXPECT_EQ(fortran, MPI_INFO_NULL);
    std::int32_t yes = 0, no = 0;
    EXPECT_EQ(MPI_Abi_get_fortran_booleans(4, &yes, &no, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
  });
}

TEST(mpi_abi, properties_of_fortran_can_be_set_one_time) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Info given = MPI_INFO_NULL, found = MPI_INFO_NULL;
    EXPECT_EQ(MPI_Abi_set_fortran_info(MPI_INFO_NULL), MPI_ERR_INFO);
    EXPECT_EQ(MPI_Info_create(&given), MPI_SUCCESS);
    for (const char* size : {"3", "0", "-4", "64", "four", "4 ", ""}) {
      EXPECT_EQ(MPI_Info_set(given, "mpi_integer_size", size), MPI_SUCCESS);
      EXPECT_EQ(MPI_Abi_set_fortran_info(given), MPI_ERR_INFO_VALUE) << size;
    }
    EXPECT_EQ(MPI_Info_set(given, "mpi_integer_size", "4"), MPI_SUCCESS);
    EXPECT_EQ(MPI_Abi_set_fortran_info(given), MPI_SUCCESS);
    EXPECT_EQ(MPI_Abi_set_fortran_info(given), MPI_ERR_ABI);
    EXPECT_EQ(MPI_Abi_get_fortran_info(&found), MPI_SUCCESS);
    int count = 0, flag = 0;
    EXPECT_EQ(MPI_Info_get_nkeys(found, &count), MPI_SUCCESS);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(MPI_Info_free(&given), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_free(&found), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_size(MPI_2INTEGER, &count), MPI_SUCCESS);
    EXPECT_EQ(count, 8);
    EXPECT_EQ(MPI_Type_size(MPI_REAL, &count), MPI_SUCCESS);
    EXPECT_EQ(count, MPI_UNDEFINED) << "no size of reals was given";
    std::int32_t yes = -1, no = 0;
    EXPECT_EQ(MPI_Abi_set_fortran_booleans(3, &yes, &no), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_SUCCESS);
    EXPECT_EQ(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI);
    yes = 7, no = 7;
    EXPECT_EQ(MPI_Abi_get_fortran_booleans(4, &yes, &no, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(yes, -1);
    EXPECT_EQ(no, 0);
    EXPECT_EQ(MPI_Abi_get_fortran_booleans(8, &yes, &no, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
  });
}

}  // namespace
}  // namespace weft
