// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators and datatypes, and their callbacks (MPI 5.0, 7.7).
#include <algorithm>
#include <climits>
#include <vector>

#include "mpi/objects/attribute.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/rank/attributes.hpp"
#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// Calls of callbacks, whose extra state is one.
struct journal {
  std::vector<void*> deleted{};
  int copies = 0;
  int error = MPI_SUCCESS;  // of the next callback
};

template <class Handle>
int note_deletion(Handle, int, void* value, void* extra) {
  auto& in = *static_cast<journal*>(extra);
  if (in.error == MPI_SUCCESS) in.deleted.push_back(value);
  return in.error;
}

// The copy is the address behind the value; a null value is not copied.
template <class Handle>
int copy_next(Handle, int, void* extra, void* value, void* copy, int* flag) {
  auto& in = *static_cast<journal*>(extra);
  ++in.copies;
  *flag = value != nullptr ? 1 : 0;
  if (value != nullptr) *static_cast<void**>(copy) = static_cast<char*>(value) + 1;
  return in.error;
}

int made_key(journal& in, MPI_Comm_copy_attr_function* copy = MPI_COMM_NULL_COPY_FN) {
  int out = MPI_KEYVAL_INVALID;
  EXPECT_EQ(MPI_Comm_create_keyval(copy, note_deletion<MPI_Comm>, &out, &in), MPI_SUCCESS);
  EXPECT_NE(out, MPI_KEYVAL_INVALID);
  return out;
}

// Null: there is none.
void* value_of(MPI_Comm of, int key) {
  void* value = nullptr;
  int flag = -1;
  EXPECT_EQ(MPI_Comm_get_attr(of, key, &value, &flag), MPI_SUCCESS);
  EXPECT_EQ(flag, value != nullptr ? 1 : 0);
  return value;
}

int number_of(MPI_Comm of, int key) {
  const void* const value = value_of(of, key);
  EXPECT_NE(value, nullptr);
  return value != nullptr ? *static_cast<const int*>(value) : -1;
}

TEST(mpi_attributes, predefined_ones_are_addresses_of_integers_and_cannot_be_changed) {  // MPI 5.0, 9.1.2
  run_ranks(3, [](numbers_of_rank) {
    EXPECT_EQ(number_of(MPI_COMM_WORLD, MPI_TAG_UB), INT_MAX);
    EXPECT_EQ(number_of(MPI_COMM_SELF, MPI_TAG_UB), INT_MAX);
    EXPECT_EQ(number_of(MPI_COMM_WORLD, MPI_HOST), MPI_PROC_NULL);
    EXPECT_EQ(number_of(MPI_COMM_WORLD, MPI_IO), MPI_ANY_SOURCE);
    EXPECT_EQ(number_of(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE), 3);
    EXPECT_EQ(number_of(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL), 0);
    EXPECT_EQ(number_of(MPI_COMM_WORLD, MPI_LASTUSEDCODE), MPI_ERR_LASTCODE);
    int code = 0, key = MPI_TAG_UB;
    EXPECT_EQ(MPI_Add_error_class(&code), MPI_SUCCESS);
    EXPECT_EQ(number_of(MPI_COMM_WORLD, MPI_LASTUSEDCODE), code);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, nullptr), MPI_ERR_KEYVAL);
    EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB), MPI_ERR_KEYVAL);
    EXPECT_EQ(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
  });
}

TEST(mpi_attributes, a_value_is_kept_replaced_and_deleted) {
  run_ranks(2, [](numbers_of_rank) {
    journal calls;
    int first = 1, second = 2;
    int key = made_key(calls);
    EXPECT_EQ(value_of(MPI_COMM_WORLD, key), nullptr);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &first), MPI_SUCCESS);
    EXPECT_EQ(value_of(MPI_COMM_WORLD, key), &first);
    EXPECT_EQ(value_of(MPI_COMM_SELF, key), nullptr);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &second), MPI_SUCCESS);
    EXPECT_EQ(calls.deleted, (std::vector<void*>{&first}));
    EXPECT_EQ(value_of(MPI_COMM_WORLD, key), &second);
    EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
    EXPECT_EQ(calls.deleted, (std::vector<void*>{&first, &second}));
    EXPECT_EQ(value_of(MPI_COMM_WORLD, key), nullptr);
    EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
    EXPECT_EQ(key, MPI_KEYVAL_INVALID);
  });
}

TEST(mpi_attributes, a_null_value_is_one) {
  run_ranks(1, [](numbers_of_rank) {
    journal calls;
    int key = made_key(calls), flag = 0;
    void* value = &key;
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(value, nullptr);
    EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
  });
}

TEST(mpi_attributes, a_key_that_is_freed_lives_in_its_attributes) {
  run_ranks(1, [](numbers_of_rank) {
    journal calls;
    int value = 0, key = made_key(calls);
    const int kept = key;
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_SELF, kept, &value), MPI_ERR_KEYVAL);
    EXPECT_EQ(value_of(MPI_COMM_WORLD, kept), &value);
    EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, kept), MPI_SUCCESS);
    EXPECT_EQ(calls.deleted, (std::vector<void*>{&value}));
    EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, kept), MPI_ERR_KEYVAL);
  });
}

TEST(mpi_attributes, a_callback_that_fails_keeps_the_attribute_and_gives_its_code) {
  run_ranks(1, [](numbers_of_rank) {
    journal calls;
    int first = 0, second = 0, code = 0, key = made_key(calls);
    EXPECT_EQ(MPI_Add_error_class(&code), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &first), MPI_SUCCESS);
    calls.error = code;
    EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), code);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &second), code);
    EXPECT_EQ(value_of(MPI_COMM_WORLD, key), &first);
    calls.error = MPI_SUCCESS;
    EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
  });
}

TEST(mpi_attributes, copies_are_made_as_the_key_says) {
  run_ranks(1, [](numbers_of_rank) {
    journal calls;
    char value = 0;
    int none = made_key(calls), same = made_key(calls, MPI_COMM_DUP_FN), next = made_key(calls, copy_next<MPI_Comm>),
        left_out = made_key(calls, copy_next<MPI_Comm>);
    for (const int key : {none, same, next}) EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, left_out, nullptr), MPI_SUCCESS);
    mpi::rank_state& rank = *mpi::current_rank();
    EXPECT_EQ(mpi::copy_attributes(rank, rank.world, rank.self), MPI_SUCCESS);
    EXPECT_EQ(value_of(MPI_COMM_SELF, none), nullptr);
    EXPECT_EQ(value_of(MPI_COMM_SELF, same), &value);
    EXPECT_EQ(value_of(MPI_COMM_SELF, next), &value + 1);
    EXPECT_EQ(rank.self.attributes.size(), 2u);
    EXPECT_EQ(calls.copies, 2);
    for (int* const key : {&none, &same, &next, &left_out}) EXPECT_EQ(MPI_Comm_free_keyval(key), MPI_SUCCESS);
    EXPECT_EQ(mpi::delete_attributes(rank, rank.self), MPI_SUCCESS);
    EXPECT_EQ(calls.deleted, (std::vector<void*>{&value + 1, &value}));
  });
}

TEST(mpi_attributes, a_copy_that_fails_leaves_none) {
  run_ranks(1, [](numbers_of_rank) {
    journal calls, failing{.error = MPI_ERR_OTHER};
    char value = 0;
    int same = made_key(calls, MPI_COMM_DUP_FN), wrong = made_key(failing, copy_next<MPI_Comm>);
    for (const int key : {same, wrong}) EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value), MPI_SUCCESS);
    mpi::rank_state& rank = *mpi::current_rank();
    EXPECT_EQ(mpi::copy_attributes(rank, rank.world, rank.self), MPI_ERR_OTHER);
    EXPECT_TRUE(rank.self.attributes.empty());
    EXPECT_EQ(calls.deleted, (std::vector<void*>{&value}));
    EXPECT_EQ(value_of(MPI_COMM_WORLD, same), &value);
  });
}

TEST(mpi_attributes, a_copy_that_fails_gives_its_code_and_a_null_handle) {
  run_ranks(2, [](numbers_of_rank mine) {
    journal failing{.error = 1234}, calls;
    char value = 0;
    int wrong = made_key(failing, copy_next<MPI_Comm>), of_types = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), MPI_SUCCESS);
    // At one of the ranks alone: the other one gets its communicator, and all go on with the parent.
    const bool fails = mine.rank == 1;
    if (fails) {
      EXPECT_EQ(MPI_Comm_set_attr(comm, wrong, &value), MPI_SUCCESS);
    }
    for (int round = 0; round < 5; ++round) {
      MPI_Comm copy = MPI_COMM_WORLD, later = MPI_COMM_WORLD, last = MPI_COMM_WORLD;
      MPI_Request request = MPI_REQUEST_NULL;
      EXPECT_EQ(MPI_Comm_dup(comm, &copy), fails ? 1234 : MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_idup(comm, &later, &request), fails ? 1234 : MPI_SUCCESS);
      EXPECT_EQ(request == MPI_REQUEST_NULL, fails);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &last), fails ? 1234 : MPI_SUCCESS);
      for (MPI_Comm* const each : {&copy, &later, &last}) {
        EXPECT_EQ(*each == MPI_COMM_NULL, fails);
        if (!fails) {
          EXPECT_EQ(MPI_Comm_free(each), MPI_SUCCESS);
        }
      }
      EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Comm_free(&comm), fails ? 1234 : MPI_SUCCESS) << "its value cannot be deleted";
    failing.error = MPI_SUCCESS;
    EXPECT_EQ(MPI_Comm_free(&comm), fails ? MPI_SUCCESS : MPI_ERR_COMM);
    MPI_Datatype type = MPI_DATATYPE_NULL, copy = MPI_INT;
    failing.error = 1234;
    EXPECT_EQ(MPI_Type_contiguous(2, MPI_INT, &type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_create_keyval(copy_next<MPI_Datatype>, MPI_TYPE_NULL_DELETE_FN, &of_types, &failing),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_set_attr(type, of_types, &value), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_dup(type, &copy), 1234);
    EXPECT_EQ(copy, MPI_DATATYPE_NULL);
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
  });
}

TEST(mpi_attributes, a_duplicate_has_copies_which_end_with_it) {
  run_ranks(2, [](numbers_of_rank) {
    journal calls;
    char value = 0;
    MPI_Comm copy = MPI_COMM_NULL;
    int key = made_key(calls, copy_next<MPI_Comm>);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &copy), MPI_SUCCESS);
    EXPECT_EQ(value_of(copy, key), &value + 1);
    calls.error = MPI_ERR_OTHER;
    EXPECT_EQ(MPI_Comm_free(&copy), MPI_ERR_OTHER);  // a callback that fails keeps the communicator
    EXPECT_EQ(value_of(copy, key), &value + 1);
    calls.error = MPI_SUCCESS;
    EXPECT_EQ(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
    EXPECT_EQ(calls.deleted, (std::vector<void*>{&value + 1}));
  });
}

TEST(mpi_attributes, those_of_datatypes_are_of_the_rank_and_other_keys) {
  run_ranks(2, [](numbers_of_rank mine) {
    journal calls;
    int value = mine.rank, key = 0, of_communicators = made_key(calls), flag = 0;
    void* found = nullptr;
    EXPECT_EQ(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, note_deletion<MPI_Datatype>, &key, &calls), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_set_attr(MPI_INT, key, &value), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_get_attr(MPI_INT, key, &found, &flag), MPI_SUCCESS);
    EXPECT_EQ(found, &value);  // also while the other rank, in this process, has one on this type
    EXPECT_EQ(MPI_Type_get_attr(MPI_CHAR, key, &found, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(MPI_Type_get_attr(MPI_INT, of_communicators, &found, &flag), MPI_ERR_KEYVAL);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value), MPI_ERR_KEYVAL);
    EXPECT_EQ(MPI_Type_set_attr(MPI_DATATYPE_NULL, key, &value), MPI_ERR_TYPE);

    mpi::rank_state& rank = *mpi::current_rank();
    const mpi::datatype &from = *mpi::find_datatype(MPI_INT), &to = *mpi::find_datatype(MPI_CHAR);
    EXPECT_EQ(mpi::copy_attributes(rank, from, to), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_get_attr(MPI_CHAR, key, &found, &flag), MPI_SUCCESS);
    EXPECT_EQ(found, &value);
    EXPECT_EQ(mpi::delete_attributes(rank, to), MPI_SUCCESS);
    EXPECT_EQ(calls.deleted.size(), 1u);
    EXPECT_EQ(MPI_Type_delete_attr(MPI_INT, key), MPI_SUCCESS);
    EXPECT_EQ(calls.deleted.size(), 2u);
    EXPECT_EQ(MPI_Type_free_keyval(&key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free_keyval(&of_communicators), MPI_SUCCESS);
  });
}

int delete_at_the_end(MPI_Comm of, int, void* value, void* extra) {
  int flag = -1;
  EXPECT_EQ(of, MPI_COMM_SELF);
  EXPECT_EQ(MPI_Finalized(&flag), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  static_cast<journal*>(extra)->deleted.push_back(value);
  return MPI_SUCCESS;
}

TEST(mpi_attributes, finalize_deletes_those_of_self_first_the_last_one_before_the_others) {  // MPI 5.0, 11.4.3
  test::local_job{2}.run([](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
    journal calls;
    std::vector<int> values(3);
    for (int& value : values) {
      int key = 0;
      EXPECT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_at_the_end, &key, &calls), MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_SELF, key, &value), MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    EXPECT_EQ(calls.deleted, (std::vector<void*>{&values[2], &values[1], &values[0]}));
    mpi::be_thread_of(nullptr);
  });
}

// Sets attributes of one more key, as often as the extra state says.
struct chain {
  int left;
  int deleted = 0;
};
int set_another(MPI_Comm comm, int, void*, void* extra) {
  chain& all = *static_cast<chain*>(extra);
  ++all.deleted;
  if (all.left-- <= 0) return MPI_SUCCESS;
  int key = 0;
  EXPECT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, set_another, &key, extra), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_set_attr(comm, key, nullptr), MPI_SUCCESS);
  return MPI_Comm_free_keyval(&key);
}

TEST(mpi_attributes, finalize_deletes_those_that_callbacks_set_a_hundred_times) {
  for (const int left : {0, 1, 5, 1'000'000}) {
    test::local_job{1}.run([left](runtime& rt) {
      mpi::rank_slot slot{.given = &rt};
      mpi::be_thread_of(&slot);
      EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
      chain all{.left = left};
      int key = 0;
      EXPECT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, set_another, &key, &all), MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), MPI_SUCCESS);
      EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
      EXPECT_EQ(all.deleted, std::min(left + 1, 100));
      mpi::be_thread_of(nullptr);
    });
  }
}

int fail_at_the_end(MPI_Comm, int, void*, void*) { return MPI_ERR_OTHER; }

TEST(mpi_attributes, finalize_gives_the_error_of_a_callback_and_ends_the_rank) {
  test::local_job{1}.run([](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
    int key = 0, flag = 0;
    EXPECT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fail_at_the_end, &key, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPI_Finalize(), MPI_ERR_OTHER);
    EXPECT_EQ(MPI_Finalized(&flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    mpi::be_thread_of(nullptr);
  });
}

TEST(mpi_attributes, the_deprecated_names_do_what_the_others_do) {
  run_ranks(1, [](numbers_of_rank) {
    journal calls;
    int value = 0, key = 0, flag = 0;
    void* found = nullptr;
    EXPECT_EQ(MPI_Keyval_create(MPI_NULL_COPY_FN, note_deletion<MPI_Comm>, &key, &calls), MPI_SUCCESS);
    EXPECT_EQ(MPI_Attr_put(MPI_COMM_WORLD, key, &value), MPI_SUCCESS);
    EXPECT_EQ(MPI_Attr_get(MPI_COMM_WORLD, key, &found, &flag), MPI_SUCCESS);
    EXPECT_EQ(found, &value);
    EXPECT_EQ(value_of(MPI_COMM_WORLD, key), &value);
    EXPECT_EQ(MPI_Attr_delete(MPI_COMM_WORLD, key), MPI_SUCCESS);
    EXPECT_EQ(calls.deleted.size(), 1u);
    EXPECT_EQ(MPI_Keyval_free(&key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Attr_get(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &found, &flag), MPI_ERR_KEYVAL);
    EXPECT_EQ(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, nullptr, &flag), MPI_ERR_ARG);
  });
}

}  // namespace
}  // namespace weft
