// SPDX-License-Identifier: BSD-3-Clause
// Info objects (MPI 5.0, chapter 10), and hints of communicators.
#include <array>
#include <string>
#include <vector>

#include "mpi/info/hints.hpp"
#include "mpi/info/info.hpp"
#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

MPI_Info made_info() {
  MPI_Info out = MPI_INFO_NULL;
  EXPECT_EQ(MPI_Info_create(&out), MPI_SUCCESS);
  return out;
}

// "-": there is no such key.
std::string value_of(MPI_Info in, const char* key) {
  std::array<char, MPI_MAX_INFO_VAL> value{};
  int length = MPI_MAX_INFO_VAL, flag = -1;
  EXPECT_EQ(MPI_Info_get_string(in, key, &length, value.data(), &flag), MPI_SUCCESS);
  if (flag == 0) return "-";
  EXPECT_EQ(static_cast<std::size_t>(length), std::string{value.data()}.size() + 1);
  return value.data();
}

std::vector<std::string> keys_of(MPI_Info in) {
  int count = -1;
  EXPECT_EQ(MPI_Info_get_nkeys(in, &count), MPI_SUCCESS);
  std::vector<std::string> out;
  for (int each = 0; each < count; ++each) {
    std::array<char, MPI_MAX_INFO_KEY> key{};
    EXPECT_EQ(MPI_Info_get_nthkey(in, each, key.data()), MPI_SUCCESS);
    out.emplace_back(key.data());
  }
  return out;
}

TEST(mpi_info, keys_are_set_replaced_deleted_and_numbered_in_their_order) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Info in = made_info();
    for (const char* key : {"b", "a", "c"}) EXPECT_EQ(MPI_Info_set(in, key, "1"), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_set(in, "a", "a longer value"), MPI_SUCCESS);
    EXPECT_EQ(keys_of(in), (std::vector<std::string>{"b", "a", "c"}));
    EXPECT_EQ(value_of(in, "a"), "a longer value");
    EXPECT_EQ(MPI_Info_delete(in, "b"), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_delete(in, "b"), MPI_ERR_INFO_NOKEY);
    EXPECT_EQ(keys_of(in), (std::vector<std::string>{"a", "c"}));
    EXPECT_EQ(value_of(in, "b"), "-");
    EXPECT_EQ(MPI_Info_free(&in), MPI_SUCCESS);
    EXPECT_EQ(in, MPI_INFO_NULL);
  });
}

TEST(mpi_info, a_duplicate_has_the_pairs_and_is_another_object) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Info in = made_info(), copy = MPI_INFO_NULL;
    EXPECT_EQ(MPI_Info_set(in, "x", "1"), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_set(in, "y", ""), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_dup(in, &copy), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_set(in, "x", "2"), MPI_SUCCESS);
    EXPECT_EQ(keys_of(copy), keys_of(in));
    EXPECT_EQ(value_of(copy, "x"), "1");
    EXPECT_EQ(value_of(copy, "y"), "");
    EXPECT_EQ(MPI_Info_free(&in), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_free(&copy), MPI_SUCCESS);
  });
}

TEST(mpi_info, values_are_cut_to_the_buffer_and_nothing_is_written_where_there_is_no_key) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Info in = made_info();
    EXPECT_EQ(MPI_Info_set(in, "key", "abcdef"), MPI_SUCCESS);
    std::array<char, 8> value{};
    int length = 4, flag = -1;
    EXPECT_EQ(MPI_Info_get_string(in, "key", &length, value.data(), &flag), MPI_SUCCESS);
    EXPECT_STREQ(value.data(), "abc");  // with the last character, 4
    EXPECT_EQ(length, 7);
    length = 0;
    EXPECT_EQ(MPI_Info_get_string(in, "key", &length, nullptr, &flag), MPI_SUCCESS);
    EXPECT_EQ(length, 7);
    length = 5;
    EXPECT_EQ(MPI_Info_get_string(in, "other", &length, value.data(), &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(length, 5);
    EXPECT_STREQ(value.data(), "abc");
    EXPECT_EQ(MPI_Info_get(in, "key", 4, value.data(), &flag), MPI_SUCCESS);  // the deprecated one: without it, 4
    EXPECT_EQ(flag, 1);
    EXPECT_STREQ(value.data(), "abcd");
    EXPECT_EQ(MPI_Info_get_valuelen(in, "key", &length, &flag), MPI_SUCCESS);
    EXPECT_EQ(length, 6);
    EXPECT_EQ(MPI_Info_get_valuelen(in, "other", &length, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(length, 6);
    EXPECT_EQ(MPI_Info_free(&in), MPI_SUCCESS);
  });
}

TEST(mpi_info, limits_and_wrong_handles_have_their_classes) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Info in = made_info(), none = MPI_INFO_NULL;
    const std::string key(MPI_MAX_INFO_KEY - 1, 'k'), value(MPI_MAX_INFO_VAL - 1, 'v');
    EXPECT_EQ(MPI_Info_set(in, key.c_str(), value.c_str()), MPI_SUCCESS);
    EXPECT_EQ(value_of(in, key.c_str()), value);
    EXPECT_EQ(keys_of(in), std::vector<std::string>{key});
    EXPECT_EQ(MPI_Info_set(in, (key + 'k').c_str(), "1"), MPI_ERR_INFO_KEY);
    EXPECT_EQ(MPI_Info_set(in, "", "1"), MPI_ERR_INFO_KEY);
    EXPECT_EQ(MPI_Info_set(in, nullptr, "1"), MPI_ERR_INFO_KEY);
    EXPECT_EQ(MPI_Info_set(in, "key", (value + 'v').c_str()), MPI_ERR_INFO_VALUE);
    EXPECT_EQ(MPI_Info_set(in, "key", nullptr), MPI_ERR_INFO_VALUE);
    EXPECT_EQ(MPI_Info_set(MPI_INFO_NULL, "key", "1"), MPI_ERR_INFO);
    int number = 0;
    std::array<char, MPI_MAX_INFO_KEY> text{};
    EXPECT_EQ(MPI_Info_get_nkeys(MPI_INFO_NULL, &number), MPI_ERR_INFO);
    EXPECT_EQ(MPI_Info_get_nthkey(in, 1, text.data()), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Info_get_nthkey(in, -1, text.data()), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Info_get(in, "key", -1, text.data(), &number), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Info_dup(MPI_INFO_NULL, &none), MPI_ERR_INFO);
    EXPECT_EQ(MPI_Info_free(&none), MPI_ERR_INFO);
    EXPECT_EQ(MPI_Info_free(&in), MPI_SUCCESS);
  });
}

TEST(mpi_info, the_environment_says_how_the_program_runs_and_cannot_be_changed) {  // MPI 5.0, 11.2.1
  run_ranks(2, [](numbers_of_rank) {
    EXPECT_NE(value_of(MPI_INFO_ENV, "command").find("tests"), std::string::npos);
    EXPECT_EQ(value_of(MPI_INFO_ENV, "maxprocs"), "2");
    EXPECT_EQ(value_of(MPI_INFO_ENV, "wdir").front(), '/');
    EXPECT_EQ(MPI_Info_set(MPI_INFO_ENV, "key", "1"), MPI_ERR_INFO);
    EXPECT_EQ(MPI_Info_delete(MPI_INFO_ENV, "command"), MPI_ERR_INFO);
    MPI_Info env = MPI_INFO_ENV, copy = MPI_INFO_NULL;
    EXPECT_EQ(MPI_Info_free(&env), MPI_ERR_INFO);
    EXPECT_EQ(MPI_Info_dup(MPI_INFO_ENV, &copy), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_set(copy, "key", "1"), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_free(&copy), MPI_SUCCESS);
  });
}

// All pairs of a new info object about the environment.
std::string environment_of(int argc, char** argv) {
  MPI_Info env = MPI_INFO_NULL;
  EXPECT_EQ(MPI_Info_create_env(argc, argv, &env), MPI_SUCCESS);
  int keys = 0;
  EXPECT_EQ(MPI_Info_get_nkeys(env, &keys), MPI_SUCCESS);
  std::string out;
  for (int index = 0; index < keys; ++index) {
    std::array<char, MPI_MAX_INFO_KEY> key{};
    EXPECT_EQ(MPI_Info_get_nthkey(env, index, key.data()), MPI_SUCCESS);
    out.append(key.data()).append("=").append(value_of(env, key.data())).append(";");
  }
  EXPECT_EQ(MPI_Info_free(&env), MPI_SUCCESS);
  return out;
}

TEST(mpi_info, objects_may_be_used_before_init_and_after_finalize) {  // MPI 5.0, 11.4.1
  test::local_job{2}.run([](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    MPI_Info in = made_info();
    EXPECT_EQ(MPI_Info_set(in, "key", "1"), MPI_SUCCESS);
    std::string name = "program", first = "-x", second = "3";
    std::array<char*, 4> argv{name.data(), first.data(), second.data(), nullptr};
    const std::string before = environment_of(3, argv.data()), alone = environment_of(0, nullptr);
    EXPECT_TRUE(before.starts_with("command=program;argv=-x 3;maxprocs=2;")) << before;
    EXPECT_TRUE(alone.starts_with("maxprocs=2;")) << alone;
    EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
    EXPECT_EQ(environment_of(3, argv.data()), before);
    EXPECT_EQ(environment_of(0, nullptr), alone);
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    EXPECT_EQ(environment_of(3, argv.data()), before);
    EXPECT_EQ(environment_of(0, nullptr), alone);
    EXPECT_EQ(value_of(in, "key"), "1");
    EXPECT_EQ(MPI_Info_free(&in), MPI_SUCCESS);
    mpi::be_thread_of(nullptr);
  });
}

TEST(mpi_info, hints_that_are_known_are_read_and_reported) {
  mpi::info in;
  in.set("mpi_assert_no_any_tag", "true");
  in.set("mpi_assert_allow_overtaking", "maybe");
  in.set("of_another_library", "true");
  mpi::communicator_hints hints = mpi::read_hints(&in);
  EXPECT_TRUE(hints.no_any_tag);
  EXPECT_FALSE(hints.allow_overtaking || hints.no_any_source);
  EXPECT_EQ(hints.matching(), mpi::matching_kind::in_order);
  in.set("mpi_assert_allow_overtaking", "true");
  in.set("mpi_assert_no_any_source", "true");
  EXPECT_EQ(mpi::read_hints(&in).matching(), mpi::matching_kind::by_rank_and_tag);
  in.set("mpi_assert_no_any_tag", "false");
  hints = mpi::read_hints(&in, hints);
  EXPECT_EQ(hints.matching(), mpi::matching_kind::in_order);
  EXPECT_TRUE(mpi::read_hints(nullptr, hints).no_any_source);

  run_ranks(1, [&hints](numbers_of_rank) {
    MPI_Info made = MPI_INFO_NULL;
    EXPECT_EQ(mpi::report_hints(hints, &made), MPI_SUCCESS);
    EXPECT_EQ(value_of(made, "mpi_assert_allow_overtaking"), "true");
    EXPECT_EQ(value_of(made, "mpi_assert_no_any_tag"), "false");
    EXPECT_EQ(value_of(made, "of_another_library"), "-");
    EXPECT_EQ(MPI_Info_free(&made), MPI_SUCCESS);
  });
}

std::string hint_of(MPI_Comm in, const char* key) {
  MPI_Info used = MPI_INFO_NULL;
  EXPECT_EQ(MPI_Comm_get_info(in, &used), MPI_SUCCESS);
  const std::string out = value_of(used, key);
  EXPECT_EQ(MPI_Info_free(&used), MPI_SUCCESS);
  return out;
}

TEST(mpi_info, a_communicator_has_the_hints_it_was_given_and_a_duplicate_has_none) {  // MPI 5.0, 7.4.2 and 7.4.4
  run_ranks(2, [](numbers_of_rank) {
    MPI_Info hints = made_info();
    for (const char* key :
         {"mpi_assert_allow_overtaking", "mpi_assert_no_any_source", "mpi_assert_no_any_tag", "other"})
      EXPECT_EQ(MPI_Info_set(hints, key, "true"), MPI_SUCCESS);
    MPI_Comm made = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &made), MPI_SUCCESS);
    EXPECT_EQ(hint_of(made, "mpi_assert_no_any_tag"), "true");
    EXPECT_EQ(hint_of(made, "other"), "-");
    EXPECT_FALSE(mpi::find_communicator(*mpi::current_rank(), made)->engine.is_ordered());
    EXPECT_EQ(MPI_Comm_dup(made, &copy), MPI_SUCCESS);
    EXPECT_EQ(hint_of(copy, "mpi_assert_no_any_tag"), "false");
    EXPECT_TRUE(mpi::find_communicator(*mpi::current_rank(), copy)->engine.is_ordered());

    EXPECT_EQ(MPI_Comm_set_info(copy, hints), MPI_SUCCESS);
    EXPECT_EQ(hint_of(copy, "mpi_assert_no_any_tag"), "true");
    EXPECT_EQ(MPI_Info_set(hints, "mpi_assert_no_any_tag", "false"), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_info(copy, hints), MPI_SUCCESS);
    EXPECT_EQ(hint_of(copy, "mpi_assert_no_any_tag"), "false");
    EXPECT_EQ(MPI_Comm_set_info(made, hints), MPI_SUCCESS);
    EXPECT_EQ(hint_of(made, "mpi_assert_no_any_tag"), "true");  // its engine stays
    EXPECT_EQ(MPI_Comm_set_info(copy, MPI_INFO_NULL), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_free(&hints), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);

    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Comm_idup_with_info(made, MPI_INFO_NULL, &copy, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(hint_of(copy, "mpi_assert_no_any_tag"), "false");
    EXPECT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free(&made), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
