// SPDX-License-Identifier: BSD-3-Clause
// Exceptions of the program's functions: they pass out of error handlers and callbacks of attributes, and nothing is
// lost.
#include <csetjmp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "mpi/error/error_handler.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;
using test::run_threads_of_rank;

constexpr int rounds = 10'000;

struct boom {
  int code;
};
void throw_code(MPI_Comm*, int* code, ...) { throw boom{*code}; }

template <class Handle>
int throw_at_copy(Handle, int, void*, void*, void*, int*) {
  throw std::runtime_error{"copy"};
}
// As long as the extra state says so.
template <class Handle>
int throw_at_deletion(Handle, int, void*, void* is_throwing) {
  if (*static_cast<bool*>(is_throwing)) throw std::runtime_error{"delete"};
  return MPI_SUCCESS;
}

// The code that a handler has thrown; MPI_SUCCESS: nothing was thrown.
template <class Call>
int thrown_code(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const boom& thrown) {
    return thrown.code;
  }
  return MPI_SUCCESS;
}
// The text of the exception that a callback has thrown.
template <class Call>
std::string thrown_text(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const std::runtime_error& thrown) {
    return thrown.what();
  }
  return "nothing";
}

std::uint32_t references(MPI_Errhandler handler) {
  // [own] No other thread uses the handler.
  return mpi::find_error_handler(handler)->references.load(std::memory_order_relaxed);
}

// All kinds of calls that fail in a communicator whose handler throws.
void make_all_failures(MPI_Comm comm) {
  std::array<int, 4> sent{}, received{};
  EXPECT_EQ(thrown_code([&] { return MPI_Send(sent.data(), 1, MPI_INT, 99, 0, comm); }), MPI_ERR_RANK);
  EXPECT_EQ(thrown_code([&] { return MPI_Bcast(sent.data(), 1, MPI_INT, -7, comm); }), MPI_ERR_ROOT);
  EXPECT_EQ(thrown_code([&] { return MPI_Comm_call_errhandler(comm, MPI_ERR_TAG); }), MPI_ERR_TAG);
  std::array<MPI_Request, 2> requests{};
  EXPECT_EQ(MPI_Isend(sent.data(), 4, MPI_INT, 0, 1, comm, requests.data()), MPI_SUCCESS);
  EXPECT_EQ(thrown_code([&] { return MPI_Recv(received.data(), 2, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE); }),
            MPI_ERR_TRUNCATE);
  EXPECT_EQ(MPI_Wait(requests.data(), MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Irecv(received.data(), 2, MPI_INT, 0, 2, comm, requests.data()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Isend(sent.data(), 4, MPI_INT, 0, 2, comm, &requests[1]), MPI_SUCCESS);
  EXPECT_EQ(thrown_code([&] { return MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE); }), MPI_ERR_TRUNCATE);
  for (const MPI_Request each : requests) EXPECT_EQ(each, MPI_REQUEST_NULL);
}

TEST(mpi_exceptions, pass_out_of_error_handlers_and_nothing_is_lost) {
  for (const int level : {MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE}) {
    run_ranks(
        1,
        [level](numbers_of_rank) {
          MPI_Comm comm = MPI_COMM_NULL;
          MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
          EXPECT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &comm), MPI_SUCCESS);
          EXPECT_EQ(MPI_Comm_create_errhandler(throw_code, &handler), MPI_SUCCESS);
          EXPECT_EQ(MPI_Comm_set_errhandler(comm, handler), MPI_SUCCESS);
          for (int round = 0; round < rounds; ++round) make_all_failures(comm);
          EXPECT_EQ(references(handler), 2u) << "the communicator's and the program's";
          if (level == MPI_THREAD_MULTIPLE)
            run_threads_of_rank(2, [&](int thread) {
              int sent = thread, received = -1;
              EXPECT_EQ(MPI_Sendrecv(&sent, 1, MPI_INT, 0, 50 + thread, &received, 1, MPI_INT, 0, 50 + thread, comm,
                                     MPI_STATUS_IGNORE),
                        MPI_SUCCESS);
              EXPECT_EQ(received, thread);
            });
          EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
          EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
        },
        {}, level);
  }
}

std::jmp_buf outside;  // of the one rank
void leave(MPI_Comm*, int* code, ...) { std::longjmp(outside, *code); }

TEST(mpi_exceptions, a_handler_that_leaves_by_longjmp_loses_no_reference) {
  run_ranks(1, [](numbers_of_rank) {
    static MPI_Errhandler handler;  // all that follows longjmp is static
    static int left, number;
    EXPECT_EQ(MPI_Comm_create_errhandler(leave, &handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
    for (left = 0; left < 100;) {
      if (setjmp(outside) == 0) {
        static_cast<void>(MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD));
      } else {
        ++left;
      }
    }
    EXPECT_EQ(references(handler), 2u);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
  });
}

TEST(mpi_exceptions, pass_out_of_callbacks_of_communicators_attributes) {
  run_ranks(1, [](numbers_of_rank) {
    bool is_throwing = true;
    int copied = 0, deleted = 0, value = 0;
    MPI_Comm comm = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_create_keyval(throw_at_copy<MPI_Comm>, MPI_COMM_NULL_DELETE_FN, &copied, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, throw_at_deletion<MPI_Comm>, &deleted, &is_throwing),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_attr(comm, copied, &value), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_attr(comm, deleted, &value), MPI_SUCCESS);
    const std::size_t communicators = mpi::current_rank()->communicators.count();
    for (int round = 0; round < rounds; ++round) {
      EXPECT_EQ(thrown_text([&] { return MPI_Comm_dup(comm, &copy); }), "copy");
      EXPECT_EQ(thrown_text([&] { return MPI_Comm_delete_attr(comm, deleted); }), "delete");
      EXPECT_EQ(thrown_text([&] { return MPI_Comm_set_attr(comm, deleted, &copy); }), "delete");
      EXPECT_EQ(thrown_text([&] { return MPI_Comm_free(&comm); }), "delete");
      EXPECT_NE(comm, MPI_COMM_NULL);
    }
    // One that waits for the next call that makes one.
    EXPECT_LE(mpi::current_rank()->communicators.count(), communicators + 1);
    is_throwing = false;
    EXPECT_EQ(MPI_Comm_delete_attr(comm, copied), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_dup(comm, &copy), MPI_SUCCESS);
    for (MPI_Comm* const each : {&copy, &comm}) EXPECT_EQ(MPI_Comm_free(each), MPI_SUCCESS);
    for (int* const key : {&copied, &deleted}) EXPECT_EQ(MPI_Comm_free_keyval(key), MPI_SUCCESS);
  });
}

// Its value is deleted where the copy of another one throws: it throws too, and the first exception passes.
TEST(mpi_exceptions, the_first_one_passes_where_a_copy_and_then_a_deletion_throw) {
  run_ranks(1, [](numbers_of_rank) {
    bool is_throwing = true;
    int both = 0, second = 0;
    MPI_Comm comm = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, throw_at_deletion<MPI_Comm>, &both, &is_throwing), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_create_keyval(throw_at_copy<MPI_Comm>, MPI_COMM_NULL_DELETE_FN, &second, nullptr), MPI_SUCCESS);
    for (const int key : {both, second}) EXPECT_EQ(MPI_Comm_set_attr(comm, key, nullptr), MPI_SUCCESS);
    for (int round = 0; round < 10; ++round) {
      EXPECT_EQ(thrown_text([&] { return MPI_Comm_dup(comm, &copy); }), "copy");
      MPI_Request request = MPI_REQUEST_NULL;
      EXPECT_EQ(thrown_text([&] { return MPI_Comm_idup(comm, &copy, &request); }), "copy");
      EXPECT_EQ(thrown_text([&] { return MPI_Comm_delete_attr(comm, both); }), "delete");
    }
    is_throwing = false;
    EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
    for (int* const key : {&both, &second}) EXPECT_EQ(MPI_Comm_free_keyval(key), MPI_SUCCESS);
  });
}

TEST(mpi_exceptions, pass_out_of_callbacks_of_datatypes_attributes) {
  run_ranks(2, [](numbers_of_rank) {
    bool is_throwing = true;
    int copied = 0, deleted = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL, copy = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_contiguous(2, MPI_INT, &type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_create_keyval(throw_at_copy<MPI_Datatype>, MPI_TYPE_NULL_DELETE_FN, &copied, nullptr),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, throw_at_deletion<MPI_Datatype>, &deleted, &is_throwing),
              MPI_SUCCESS);
    for (const int key : {copied, deleted}) EXPECT_EQ(MPI_Type_set_attr(type, key, nullptr), MPI_SUCCESS);
    for (int round = 0; round < 1000; ++round) {
      EXPECT_EQ(thrown_text([&] { return MPI_Type_dup(type, &copy); }), "copy");
      EXPECT_EQ(thrown_text([&] { return MPI_Type_delete_attr(type, deleted); }), "delete");
      EXPECT_EQ(thrown_text([&] { return MPI_Type_free(&type); }), "delete");
    }
    is_throwing = false;
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
    for (int* const key : {&copied, &deleted}) EXPECT_EQ(MPI_Type_free_keyval(key), MPI_SUCCESS);
  });
}

TEST(mpi_exceptions, of_a_callback_pass_at_the_one_rank_where_it_throws) {
  run_ranks(2, [](numbers_of_rank mine) {
    int key = 0;
    MPI_Comm copy = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_create_keyval(throw_at_copy<MPI_Comm>, MPI_COMM_NULL_DELETE_FN, &key, nullptr), MPI_SUCCESS);
    for (int round = 0; round < 100; ++round) {
      const bool throws = mine.rank == round % 2;
      if (throws) {
        EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, nullptr), MPI_SUCCESS);
      }
      EXPECT_EQ(thrown_text([&] { return MPI_Comm_dup(MPI_COMM_WORLD, &copy); }), throws ? "copy" : "nothing");
      EXPECT_EQ(throws ? MPI_Comm_delete_attr(MPI_COMM_WORLD, key) : MPI_Comm_free(&copy), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
  });
}

// The handler of a function that the callback calls throws through the callback.
int fail_inside(MPI_Comm, int, void*, void*) {
  int number = 0;
  return MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
}

TEST(mpi_exceptions, of_a_function_that_a_callback_calls_pass_out_of_both) {
  run_ranks(1, [](numbers_of_rank) {
    int key = 0;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_create_errhandler(throw_code, &handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fail_inside, &key, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), MPI_SUCCESS);
    for (int round = 0; round < 10; ++round)
      EXPECT_EQ(thrown_code([&] { return MPI_Comm_delete_attr(MPI_COMM_SELF, key); }), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_SELF, key), MPI_ERR_RANK) << "the callback's code";
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
    // So MPI_Finalize has nothing to delete.
    EXPECT_EQ(mpi::current_rank()->self.attributes.size(), 1u);
    mpi::current_rank()->self.attributes.clear();
  });
}

// A callback throws, or its error's handler.
TEST(mpi_exceptions, of_finalize_pass_when_the_rank_has_ended) {
  for (const bool is_of_handler : {false, true}) {
    test::local_job{2}.run([is_of_handler](runtime& rt) {
      mpi::rank_slot slot{.given = &rt};
      mpi::be_thread_of(&slot);
      EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
      bool is_throwing = true;
      int key = 0, is_finalized = 0;
      MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
      EXPECT_EQ(MPI_Comm_create_errhandler(throw_code, &handler), MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler), MPI_SUCCESS);
      EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
      constexpr auto fail = +[](MPI_Comm, int, void*, void*) { return MPI_ERR_OTHER; };
      EXPECT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, is_of_handler ? fail : throw_at_deletion<MPI_Comm>, &key,
                                       &is_throwing),
                MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), MPI_SUCCESS);
      if (is_of_handler) {
        EXPECT_EQ(thrown_code([] { return MPI_Finalize(); }), MPI_ERR_OTHER);
      } else {
        EXPECT_EQ(thrown_text([] { return MPI_Finalize(); }), "delete");
      }
      EXPECT_EQ(MPI_Finalized(&is_finalized), MPI_SUCCESS);
      EXPECT_EQ(is_finalized, 1) << "as after an error that is returned";
      mpi::be_thread_of(nullptr);
    });
  }
}

void throw_as_operation(void*, void*, int*, MPI_Datatype*) { throw std::runtime_error{"operation"}; }

TEST(mpi_exceptions, of_operations_and_generalized_requests_are_errors_of_the_library) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Op op = MPI_OP_NULL;
    int given = 1, result = 0;
    EXPECT_EQ(MPI_Op_create(throw_as_operation, 1, &op), MPI_SUCCESS);
    EXPECT_EQ(MPI_Reduce_local(&given, &result, 1, MPI_INT, op), MPI_ERR_INTERN);
    EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
    const auto query = [](void*, MPI_Status*) -> int { throw std::runtime_error{"query"}; };
    const auto free = [](void*) -> int { throw std::runtime_error{"free"}; };
    const auto cancel = [](void*, int) -> int { throw std::runtime_error{"cancel"}; };
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Grequest_start(query, free, cancel, nullptr, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Cancel(&request), MPI_ERR_INTERN);
    EXPECT_EQ(MPI_Grequest_complete(request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_INTERN);
  });
}

}  // namespace
}  // namespace weft
