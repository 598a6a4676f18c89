// SPDX-License-Identifier: BSD-3-Clause
// The functions of datatypes: MPI 5.0, chapter 5, and 8.4 for names.
#include <array>
#include <climits>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpi/types.hpp"

namespace weft {
namespace {

using test::name_of;
using test::numbers_of_rank;
using test::run_ranks;
using test::type_owner;
using test::vector_type;

void at_one_rank(const std::function<void()>& body) {
  run_ranks(1, [&](numbers_of_rank) { body(); });
}

TEST(mpi_datatypes, a_vector_has_size_extent_and_true_extent) {
  at_one_rank([] {
    const type_owner type = vector_type(3, 2, 5, MPI_INT);
    int size = 0;
    MPI_Count size_c = 0, size_x = 0;
    EXPECT_EQ(MPI_Type_size(type, &size), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_size_c(type, &size_c), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_size_x(type, &size_x), MPI_SUCCESS);
    EXPECT_EQ(std::make_tuple(size, size_c, size_x), std::make_tuple(24, 24, 24));
    const type_owner resized{[&](MPI_Datatype* to) { return MPI_Type_create_resized(type, -8, 100, to); }};
    MPI_Aint lower = 0, extent = 0, true_lower = -1, true_extent = 0;
    EXPECT_EQ(MPI_Type_get_extent(resized, &lower, &extent), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_get_true_extent(resized, &true_lower, &true_extent), MPI_SUCCESS);
    EXPECT_EQ(std::make_tuple(lower, extent, true_lower, true_extent), std::make_tuple(-8, 100, 0, 48));
    MPI_Count lower_x = 0, extent_x = 0;
    EXPECT_EQ(MPI_Type_get_extent_x(resized, &lower_x, &extent_x), MPI_SUCCESS);
    EXPECT_EQ(std::make_pair(lower_x, extent_x), std::make_pair(MPI_Count{-8}, MPI_Count{100}));
  });
}

// MPI 5.0, 5.1.5: a value that the argument cannot hold is MPI_UNDEFINED.
TEST(mpi_datatypes, a_size_above_the_range_of_int_is_undefined_in_int) {
  at_one_rank([] {
    const type_owner type{[](MPI_Datatype* to) { return MPI_Type_contiguous_c(MPI_Count{1} << 33, MPI_BYTE, to); }};
    int size = 0;
    MPI_Count size_c = 0;
    EXPECT_EQ(MPI_Type_size(type, &size), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_size_c(type, &size_c), MPI_SUCCESS);
    EXPECT_EQ(size, MPI_UNDEFINED);
    EXPECT_EQ(size_c, MPI_Count{1} << 33);
    EXPECT_EQ(MPI_Pack_size(1, type, MPI_COMM_SELF, &size), MPI_SUCCESS);
    EXPECT_EQ(size, MPI_UNDEFINED);
  });
}

// MPI 5.0, 3.2.5 and 5.1.11: a status of more than 2^31 elements.
TEST(mpi_datatypes, counts_above_the_range_of_int_are_undefined_in_int) {
  at_one_rank([] {
    constexpr MPI_Count many = MPI_Count{3} << 31;
    MPI_Status status{};
    EXPECT_EQ(MPI_Status_set_elements_c(&status, MPI_DOUBLE_INT, 2 * many), MPI_SUCCESS);
    int count = 0, elements = 0;
    MPI_Count count_c = 0, elements_c = 0;
    EXPECT_EQ(MPI_Get_count(&status, MPI_DOUBLE_INT, &count), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_elements(&status, MPI_DOUBLE_INT, &elements), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_count_c(&status, MPI_DOUBLE_INT, &count_c), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_elements_c(&status, MPI_DOUBLE_INT, &elements_c), MPI_SUCCESS);
    EXPECT_EQ(std::make_pair(count, elements), std::make_pair(MPI_UNDEFINED, MPI_UNDEFINED));
    EXPECT_EQ(std::make_pair(count_c, elements_c), std::make_pair(many, 2 * many));
    EXPECT_EQ(MPI_Get_elements_x(&status, MPI_BYTE, &elements_c), MPI_SUCCESS);
    EXPECT_EQ(elements_c, 12 * many);
  });
}

TEST(mpi_datatypes, predefined_and_derived_types_have_names_that_a_program_may_change) {
  run_ranks(2, [](numbers_of_rank mine) {
    EXPECT_EQ(name_of(MPI_INT), "MPI_INT");
    EXPECT_EQ(name_of(MPI_INTEGER), "MPI_INTEGER") << "an absent type has its name";
    const type_owner type = vector_type(2, 1, 2, MPI_INT);
    EXPECT_EQ(name_of(type), "");
    EXPECT_EQ(MPI_Type_set_name(type, "pairs"), MPI_SUCCESS);
    EXPECT_EQ(name_of(type), "pairs");
    EXPECT_EQ(MPI_Type_set_name(type, std::string(1000, 'x').c_str()), MPI_SUCCESS);
    EXPECT_EQ(name_of(type), std::string(MPI_MAX_OBJECT_NAME - 1, 'x'));
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Type_set_name(MPI_INT, "number"), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(name_of(MPI_INT), mine.rank == 0 ? "number" : "MPI_INT") << "a name is of one rank";
  });
}

struct contents {
  int combiner = 0;
  std::vector<int> integers{};
  std::vector<MPI_Aint> addresses{};
  std::vector<MPI_Datatype> types{};
};
contents contents_of(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0;
  contents out;
  EXPECT_EQ(MPI_Type_get_envelope(type, &integers, &addresses, &types, &out.combiner), MPI_SUCCESS);
  out.integers.resize(static_cast<std::size_t>(integers));
  out.addresses.resize(static_cast<std::size_t>(addresses));
  out.types.resize(static_cast<std::size_t>(types));
  EXPECT_EQ(MPI_Type_get_contents(type, integers, addresses, types, out.integers.data(), out.addresses.data(),
                                  out.types.data()),
            MPI_SUCCESS);
  return out;
}

TEST(mpi_datatypes, contents_are_the_arguments_and_derived_types_in_them_are_the_callers) {
  at_one_rank([] {
    MPI_Datatype inner = MPI_DATATYPE_NULL, outer = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &inner), MPI_SUCCESS);
    const std::array lengths{2, 1};
    const std::array<MPI_Aint, 2> at{0, 64};
    const std::array types{inner, MPI_INT};
    EXPECT_EQ(MPI_Type_create_struct(2, lengths.data(), at.data(), types.data(), &outer), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&inner), MPI_SUCCESS);
    EXPECT_EQ(inner, MPI_DATATYPE_NULL);
    contents of = contents_of(outer);
    EXPECT_EQ(of.combiner, MPI_COMBINER_STRUCT);
    EXPECT_EQ(of.integers, (std::vector{2, 2, 1}));
    EXPECT_EQ(of.addresses, (std::vector<MPI_Aint>{0, 64}));
    EXPECT_EQ(of.types[1], MPI_INT);
    EXPECT_EQ(MPI_Type_free(&outer), MPI_SUCCESS);
    EXPECT_EQ(contents_of(of.types[0]).integers, (std::vector{3, 1, 2}));
    EXPECT_EQ(MPI_Type_free(&of.types[0]), MPI_SUCCESS);
  });
}

// MPI 5.0, 5.1.13: large counts need the functions that end in _c.
TEST(mpi_datatypes, contents_of_a_type_of_large_counts_are_for_the_function_that_has_them) {
  at_one_rank([] {
    const type_owner type{[](MPI_Datatype* to) { return MPI_Type_vector_c(3, 2, 5, MPI_INT, to); }};
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    EXPECT_EQ(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner), MPI_ERR_TYPE);
    std::array<MPI_Count, 4> has{};
    EXPECT_EQ(MPI_Type_get_envelope_c(type, &has[0], &has[1], &has[2], &has[3], &combiner), MPI_SUCCESS);
    EXPECT_EQ(has, (std::array<MPI_Count, 4>{0, 0, 3, 1}));
    EXPECT_EQ(combiner, MPI_COMBINER_VECTOR);
    std::array<MPI_Count, 3> counts{};
    MPI_Datatype old = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_get_contents_c(type, 0, 0, 3, 1, nullptr, nullptr, counts.data(), &old), MPI_SUCCESS);
    EXPECT_EQ(counts, (std::array<MPI_Count, 3>{3, 2, 5}));
    EXPECT_EQ(old, MPI_INT);
    EXPECT_EQ(MPI_Type_get_contents_c(type, 0, 0, 2, 1, nullptr, nullptr, counts.data(), &old), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Type_get_contents_c(MPI_INT, 0, 0, 0, 0, nullptr, nullptr, nullptr, nullptr), MPI_ERR_TYPE);
  });
}

TEST(mpi_datatypes, a_duplicate_is_committed_and_outlives_its_original) {
  at_one_rank([] {
    MPI_Datatype type = MPI_DATATYPE_NULL, copy = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_vector(2, 1, 2, MPI_INT, &type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_dup(type, &copy), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
    const std::array numbers{1, 2, 3};
    std::array<int, 3> into{};
    int position = 0;
    EXPECT_EQ(MPI_Pack(numbers.data(), 1, copy, into.data(), 12, &position, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(into, (std::array{1, 3, 0}));
    EXPECT_EQ(MPI_Type_free(&copy), MPI_SUCCESS);
  });
}

int double_the_value(MPI_Datatype, int, void*, void* value, void* copied, int* flag) {
  *static_cast<std::intptr_t*>(copied) = 2 * reinterpret_cast<std::intptr_t>(value);
  *flag = 1;
  return MPI_SUCCESS;
}
int count_the_deleted(MPI_Datatype, int, void*, void* counter) {
  ++*static_cast<int*>(counter);
  return MPI_SUCCESS;
}

// MPI 5.0, 7.7.4.
TEST(mpi_datatypes, a_duplicate_has_copies_of_the_attributes_and_a_free_deletes_them) {
  at_one_rank([] {
    int key = MPI_KEYVAL_INVALID, deleted = 0, flag = 0;
    EXPECT_EQ(MPI_Type_create_keyval(double_the_value, count_the_deleted, &key, &deleted), MPI_SUCCESS);
    MPI_Datatype type = MPI_DATATYPE_NULL, copy = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_contiguous(3, MPI_INT, &type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_set_attr(type, key, reinterpret_cast<void*>(21)), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_dup(type, &copy), MPI_SUCCESS);
    std::intptr_t value = 0;
    EXPECT_EQ(MPI_Type_get_attr(copy, key, &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(std::make_pair(flag, value), std::make_pair(1, std::intptr_t{42}));
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
    EXPECT_EQ(deleted, 1);
    contents of = contents_of(copy);
    EXPECT_EQ(MPI_Type_free(&of.types[0]), MPI_SUCCESS);
    EXPECT_EQ(deleted, 1) << "the type of which it is a duplicate has no attributes any more";
    EXPECT_EQ(MPI_Type_free(&copy), MPI_SUCCESS);
    EXPECT_EQ(deleted, 2);
    EXPECT_EQ(MPI_Type_free_keyval(&key), MPI_SUCCESS);
  });
}

TEST(mpi_datatypes, types_are_found_by_class_and_size) {
  at_one_rank([] {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &type), MPI_SUCCESS);
    EXPECT_EQ(type, MPI_INTEGER4);
    EXPECT_EQ(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type), MPI_SUCCESS);
    EXPECT_EQ(type, MPI_REAL8);
    EXPECT_EQ(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type), MPI_SUCCESS);
    EXPECT_EQ(type, MPI_COMPLEX16);
    EXPECT_EQ(MPI_Type_match_size(MPI_TYPECLASS_REAL, 5, &type), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Type_match_size(17, 4, &type), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type), MPI_SUCCESS);
    EXPECT_EQ(type, MPI_DOUBLE_INT);
    EXPECT_EQ(MPI_Type_get_value_index(MPI_DOUBLE, MPI_DOUBLE, &type), MPI_SUCCESS);
    EXPECT_EQ(type, MPI_DATATYPE_NULL);
  });
}

// MPI 5.0, 19.1.9: predefined types without names. Equal arguments give one handle, which is not freed.
TEST(mpi_datatypes, types_of_fortran_are_found_by_digits_and_range) {
  at_one_rank([] {
    MPI_Datatype type = MPI_DATATYPE_NULL, again = MPI_DATATYPE_NULL;
    int size = 0;
    EXPECT_EQ(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &again), MPI_SUCCESS);
    EXPECT_EQ(type, again);
    EXPECT_EQ(MPI_Type_size(type, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 8);
    const contents of = contents_of(type);
    EXPECT_EQ(of.combiner, MPI_COMBINER_F90_REAL);
    EXPECT_EQ(of.integers, (std::vector{15, MPI_UNDEFINED}));
    EXPECT_EQ(MPI_Type_free(&type), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Type_create_f90_complex(MPI_UNDEFINED, 37, &type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_size(type, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 8);
    EXPECT_EQ(MPI_Type_create_f90_integer(9, &type), MPI_SUCCESS);
    EXPECT_EQ(contents_of(type).integers, std::vector{9});
    EXPECT_EQ(MPI_Type_create_f90_integer(39, &type), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG);
  });
}

TEST(mpi_datatypes, addresses_are_added_and_subtracted) {
  at_one_rank([] {
    std::array<int, 5> numbers{};
    MPI_Aint first = 0, last = 0;
    EXPECT_EQ(MPI_Get_address(&numbers[0], &first), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_address(&numbers[4], &last), MPI_SUCCESS);
    EXPECT_EQ(MPI_Aint_diff(last, first), 16);
    EXPECT_EQ(MPI_Aint_add(first, 16), last);
  });
}

TEST(mpi_datatypes, wrong_arguments_have_the_class_of_the_argument) {
  at_one_rank([] {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const auto handle_of_comm = reinterpret_cast<MPI_Datatype>(MPI_COMM_WORLD);
    EXPECT_EQ(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Type_contiguous(1, handle_of_comm, &type), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Type_contiguous(1, MPI_INTEGER, &type), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Type_contiguous(1, MPI_INT, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Type_vector(1, -1, 0, MPI_INT, &type), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Type_indexed(1, nullptr, nullptr, MPI_INT, &type), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Type_create_struct(1, nullptr, nullptr, nullptr, &type), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Type_contiguous_c(INT64_MAX, MPI_INT, &type), MPI_ERR_VALUE_TOO_LARGE);
    EXPECT_EQ(type, MPI_DATATYPE_NULL);
    EXPECT_EQ(MPI_Type_commit(&type), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Type_free(&type), MPI_ERR_TYPE);
    type = MPI_INT;
    EXPECT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&type), MPI_ERR_TYPE);
    EXPECT_EQ(type, MPI_INT);
    int size = 0;
    EXPECT_EQ(MPI_Type_size(MPI_REAL, &size), MPI_SUCCESS);
    EXPECT_EQ(size, MPI_UNDEFINED) << "no compiler of Fortran has given it a size";
    EXPECT_EQ(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
  });
}

}  // namespace
}  // namespace weft
