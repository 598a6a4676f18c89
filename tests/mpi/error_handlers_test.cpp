// SPDX-License-Identifier: BSD-3-Clause
// Error handlers, and the error classes and codes that users add.
#include <array>
#include <string>
#include <thread>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// The last error that a user's handler has heard of. Handlers have no state of their own.
struct heard_error {
  MPI_Comm in = MPI_COMM_NULL;
  int code = MPI_SUCCESS;
  int calls = 0;
};
thread_local heard_error heard;  // of the thread, which is a rank

void hear(MPI_Comm* in, int* code, ...) {
  heard.in = *in;
  heard.code = *code;
  ++heard.calls;
}

// Calls functions that fail, too.
void hear_and_fail(MPI_Comm* in, int* code, ...) {
  hear(in, code);
  int number = 0;
  EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_SELF), MPI_ERR_RANK);
}

MPI_Errhandler made_of(MPI_Comm_errhandler_function* function) {
  MPI_Errhandler out = MPI_ERRHANDLER_NULL;
  EXPECT_EQ(MPI_Comm_create_errhandler(function, &out), MPI_SUCCESS);
  return out;
}

int send_to_nobody(MPI_Comm in) {
  int number = 0;
  return MPI_Send(&number, 1, MPI_INT, 99, 0, in);
}

std::string text_of(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = -1;
  EXPECT_EQ(MPI_Error_string(code, text.data(), &length), MPI_SUCCESS);
  EXPECT_EQ(std::string{text.data()}.size(), static_cast<std::size_t>(length));
  return text.data();
}

int class_of(int code) {
  int out = -1;
  EXPECT_EQ(MPI_Error_class(code, &out), MPI_SUCCESS);
  return out;
}

TEST(mpi_error_handlers, a_users_handler_is_called_with_communicator_and_code_and_the_function_returns_the_code) {
  run_ranks(2, [](numbers_of_rank) {
    MPI_Errhandler handler = made_of(hear);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
    heard = {};
    EXPECT_EQ(send_to_nobody(MPI_COMM_WORLD), MPI_ERR_RANK);
    EXPECT_EQ(heard.in, MPI_COMM_WORLD);
    EXPECT_EQ(heard.code, MPI_ERR_RANK);
    EXPECT_EQ(send_to_nobody(MPI_COMM_SELF), MPI_ERR_RANK);
    EXPECT_EQ(heard.calls, 1);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
  });
}

TEST(mpi_error_handlers, errors_of_no_communicator_are_those_of_self) {  // MPI 5.0, 9.3
  run_ranks(1, [](numbers_of_rank) {
    MPI_Errhandler handler = made_of(hear);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler), MPI_SUCCESS);
    heard = {};
    int number = 0;
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    EXPECT_EQ(heard.in, MPI_COMM_SELF);
    EXPECT_EQ(MPI_Error_class(-5, &number), MPI_ERR_ARG);
    EXPECT_EQ(heard.calls, 2);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
  });
}

// What a user's handler of files or sessions has got.
thread_local int heard_of_files = MPI_SUCCESS, heard_of_sessions = MPI_SUCCESS;  // of the thread, which is a rank
void hear_of_files(MPI_File* file, int* code, ...) {
  EXPECT_EQ(*file, MPI_FILE_NULL);
  heard_of_files = *code;
}
void hear_of_sessions(MPI_Session* session, int* code, ...) {
  EXPECT_EQ(*session, MPI_SESSION_NULL);
  heard_of_sessions = *code;
}

int open_file() {
  MPI_File file = MPI_FILE_NULL;
  return MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
}

TEST(mpi_error_handlers, errors_of_files_are_those_of_the_null_file_which_returns_them) {  // MPI 5.0, 14.7
  run_ranks(2, [](numbers_of_rank) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL, of_world = made_of(hear), found = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, of_world), MPI_SUCCESS);
    heard = {};
    EXPECT_EQ(open_file(), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(MPI_File_delete("none", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(MPI_File_get_errhandler(MPI_FILE_NULL, &found), MPI_SUCCESS);
    EXPECT_EQ(found, MPI_ERRORS_RETURN);
    EXPECT_EQ(MPI_File_create_errhandler(hear_of_files, &handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_set_errhandler(MPI_FILE_NULL, of_world), MPI_ERR_ERRHANDLER) << "it is for communicators";
    EXPECT_EQ(heard.calls, 0);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_ERR_ERRHANDLER) << "it is for files";
    EXPECT_EQ(heard.calls, 1);
    EXPECT_EQ(MPI_File_set_errhandler(MPI_FILE_NULL, handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_get_errhandler(MPI_FILE_NULL, &found), MPI_SUCCESS);
    EXPECT_EQ(found, handler);
    EXPECT_EQ(open_file(), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(heard_of_files, MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO), MPI_SUCCESS);
    EXPECT_EQ(heard_of_files, MPI_ERR_IO);
    const auto file = reinterpret_cast<MPI_File>(&handler);
    EXPECT_EQ(MPI_File_set_errhandler(file, handler), MPI_ERR_FILE);
    EXPECT_EQ(heard_of_files, MPI_ERR_FILE);
    EXPECT_EQ(heard.calls, 1);
    for (MPI_Errhandler* const each : {&handler, &found, &of_world}) EXPECT_EQ(MPI_Errhandler_free(each), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
  });
}

// With or without a rank.
void start_sessions() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Session session = MPI_SESSION_NULL;
  EXPECT_EQ(MPI_Session_create_errhandler(hear_of_sessions, &handler), MPI_SUCCESS);
  EXPECT_EQ(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_ERR_UNSUPPORTED_OPERATION);
  heard_of_sessions = MPI_SUCCESS;
  EXPECT_EQ(MPI_Session_init(MPI_INFO_NULL, handler, &session), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(heard_of_sessions, MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
}

TEST(mpi_error_handlers, the_error_of_a_session_that_cannot_start_is_that_of_the_given_handler) {
  test::local_job{1}.run([](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    start_sessions();
    EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
    start_sessions();
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    start_sessions();
    mpi::be_thread_of(nullptr);
  });
}

TEST(mpi_error_handlers, a_handler_that_is_freed_lives_while_a_communicator_has_it) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Errhandler handler = made_of(hear);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    EXPECT_EQ(handler, MPI_ERRHANDLER_NULL);
    heard = {};
    EXPECT_EQ(send_to_nobody(MPI_COMM_WORLD), MPI_ERR_RANK);
    EXPECT_EQ(heard.calls, 1);
    EXPECT_EQ(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    EXPECT_EQ(send_to_nobody(MPI_COMM_SELF), MPI_ERR_RANK);
    EXPECT_EQ(heard.calls, 2);
  });
}

TEST(mpi_error_handlers, a_handler_may_call_functions_that_fail_and_change_the_handler) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Errhandler handler = made_of(hear_and_fail);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    heard = {};
    EXPECT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG), MPI_SUCCESS);
    EXPECT_EQ(heard.code, MPI_ERR_TAG);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG), MPI_SUCCESS);
    EXPECT_EQ(heard.calls, 1);
  });
}

TEST(mpi_error_handlers, predefined_handlers_that_were_asked_for_may_be_freed) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler), MPI_SUCCESS);
    EXPECT_EQ(handler, MPI_ERRORS_RETURN);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    EXPECT_EQ(handler, MPI_ERRHANDLER_NULL);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_ERR_ERRHANDLER);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    EXPECT_EQ(MPI_Comm_create_errhandler(nullptr, &handler), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Comm_create_errhandler(hear, nullptr), MPI_ERR_ARG);
  });
}

TEST(mpi_error_handlers, a_request_that_fails_in_a_list_calls_the_handler_with_the_error_of_its_status) {
  run_ranks(1, [](numbers_of_rank) {  // MPI 5.0, 9.3: not with MPI_ERR_IN_STATUS, which the function returns
    MPI_Errhandler handler = made_of(hear);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
    heard = {};
    std::array<int, 2> sent{}, received{};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    EXPECT_EQ(MPI_Irecv(received.data(), 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send(sent.data(), 2, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
    EXPECT_EQ(heard.in, MPI_COMM_WORLD);
    EXPECT_EQ(heard.code, MPI_ERR_TRUNCATE);
    EXPECT_EQ(heard.calls, 1);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
  });
}

TEST(mpi_error_handlers, threads_fail_while_others_change_the_handler) {
  test::local_job{1}.run([](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    int level = 0;
    EXPECT_EQ(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    std::thread other{[&slot] {
      mpi::be_thread_of(&slot);
      for (int each = 0; each < 300; ++each) EXPECT_EQ(send_to_nobody(MPI_COMM_WORLD), MPI_ERR_RANK);
      mpi::be_thread_of(nullptr);
    }};
    for (int each = 0; each < 300; ++each) {
      MPI_Errhandler handler = made_of(hear);
      EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
      EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    }
    other.join();
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    mpi::be_thread_of(nullptr);
  });
}

TEST(mpi_error_codes, classes_and_codes_of_users_have_texts_and_classes) {
  run_ranks(2, [](numbers_of_rank) {
    int fault = 0, detail = 0, other = 0;
    EXPECT_EQ(MPI_Add_error_class(&fault), MPI_SUCCESS);
    EXPECT_EQ(fault, MPI_ERR_LASTCODE + 1);  // at all ranks that add in one order
    EXPECT_EQ(MPI_Add_error_code(fault, &detail), MPI_SUCCESS);
    EXPECT_EQ(MPI_Add_error_code(MPI_ERR_TAG, &other), MPI_SUCCESS);
    EXPECT_EQ(class_of(fault), fault);
    EXPECT_EQ(class_of(detail), fault);
    EXPECT_EQ(class_of(other), MPI_ERR_TAG);
    EXPECT_EQ(text_of(detail), "");
    EXPECT_EQ(MPI_Add_error_string(detail, "the loom is out of thread"), MPI_SUCCESS);
    EXPECT_EQ(text_of(detail), "the loom is out of thread");
    EXPECT_EQ(MPI_Add_error_string(detail, "another text"), MPI_SUCCESS);
    EXPECT_EQ(text_of(detail), "another text");
    EXPECT_EQ(text_of(fault), "");
    EXPECT_EQ(text_of(MPI_ERR_TAG), "MPI_ERR_TAG: the tag is not valid");
    EXPECT_EQ(class_of(MPI_T_ERR_INVALID_INDEX), MPI_T_ERR_INVALID_INDEX);
  });
}

TEST(mpi_error_codes, they_are_removed_text_first_and_class_last) {
  run_ranks(1, [](numbers_of_rank) {  // MPI 5.0, 9.5
    int fault = 0, detail = 0, found = 0;
    EXPECT_EQ(MPI_Add_error_class(&fault), MPI_SUCCESS);
    EXPECT_EQ(MPI_Add_error_code(fault, &detail), MPI_SUCCESS);
    EXPECT_EQ(MPI_Add_error_string(detail, "text"), MPI_SUCCESS);
    EXPECT_EQ(MPI_Remove_error_code(detail), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Remove_error_class(fault), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Remove_error_string(detail), MPI_SUCCESS);
    EXPECT_EQ(MPI_Remove_error_string(detail), MPI_ERR_ARG);
    EXPECT_EQ(text_of(detail), "");
    EXPECT_EQ(MPI_Remove_error_class(fault), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Remove_error_code(detail), MPI_SUCCESS);
    EXPECT_EQ(MPI_Error_class(detail, &found), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Remove_error_class(fault), MPI_SUCCESS);
    EXPECT_EQ(MPI_Add_error_code(fault, &detail), MPI_ERR_ARG);
  });
}

TEST(mpi_error_codes, predefined_ones_cannot_be_changed) {
  run_ranks(1, [](numbers_of_rank) {
    int code = 0;
    EXPECT_EQ(MPI_Add_error_string(MPI_ERR_TAG, "text"), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Remove_error_class(MPI_ERR_TAG), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Remove_error_code(MPI_ERR_TAG), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Remove_error_string(MPI_ERR_TAG), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Add_error_code(MPI_ERR_LASTCODE + 1, &code), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Add_error_class(&code), MPI_SUCCESS);
    EXPECT_EQ(MPI_Add_error_string(code, std::string(MPI_MAX_ERROR_STRING, 'x').c_str()), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Add_error_string(code, std::string(MPI_MAX_ERROR_STRING - 1, 'x').c_str()), MPI_SUCCESS);
    EXPECT_EQ(text_of(code).size(), static_cast<std::size_t>(MPI_MAX_ERROR_STRING - 1));
  });
}

TEST(mpi_error_codes, they_may_be_used_before_init_and_after_finalize) {  // MPI 5.0, 11.4.1
  test::local_job{1}.run([](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    int fault = 0;
    EXPECT_EQ(MPI_Add_error_class(&fault), MPI_SUCCESS);
    EXPECT_EQ(MPI_Add_error_string(fault, "early"), MPI_SUCCESS);
    MPI_Errhandler handler = made_of(hear);
    EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
    heard = {};
    EXPECT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, fault), MPI_SUCCESS);
    EXPECT_EQ(heard.code, fault);
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    EXPECT_EQ(text_of(fault), "early");
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Remove_error_string(fault), MPI_SUCCESS);
    EXPECT_EQ(MPI_Remove_error_class(fault), MPI_SUCCESS);
    mpi::be_thread_of(nullptr);
  });
}

}  // namespace
}  // namespace weft
