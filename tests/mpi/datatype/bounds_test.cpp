// SPDX-License-Identifier: BSD-3-Clause
// Sizes and bounds that the standard's rules give, and how many blocks a program needs.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "mpi/datatype/elements.hpp"
#include "mpi/datatype/known_types.hpp"

namespace weft::test {
namespace {

using namespace mpi;

void expect_bounds(const datatype& type, std::int64_t size, std::int64_t lower, std::int64_t extent,
                   std::int64_t true_lower, std::int64_t true_extent) {
  EXPECT_EQ(type.size(), size);
  EXPECT_EQ(type.lower_bound(), lower);
  EXPECT_EQ(type.extent(), extent);
  EXPECT_EQ(type.true_lower_bound(), true_lower);
  EXPECT_EQ(type.true_extent(), true_extent);
}

TEST(datatype_bounds, of_predefined_types_are_those_of_the_c_types) {
  for (const basic& each : basics()) {
    const datatype& type = *known(each.handle);
    EXPECT_EQ(type.name(), each.name);
    EXPECT_TRUE(type.is_committed());
    expect_bounds(type, each.bytes, 0, each.bytes, 0, each.bytes);
    EXPECT_EQ(type.element(), &each);
  }
  expect_bounds(*known(0x209), sizeof(int), 0, sizeof(int), 0, sizeof(int));
  EXPECT_EQ(known(0x200), nullptr) << "MPI_DATATYPE_NULL";
  EXPECT_EQ(known(0x1000), nullptr);
  EXPECT_EQ(encoded_bytes(0x258), 8U) << "MPI_INT64_T";
  EXPECT_EQ(encoded_bytes(0x209), 0U) << "MPI_INT";
}

TEST(datatype_bounds, of_pairs_are_those_of_a_c_struct) {
  struct long_double_and_int {
    long double value;
    int index;
  };
  expect_bounds(*double_int_type(), 12, 0, 16, 0, 12);
  expect_bounds(*known(0x22b), 8, 0, 8, 0, 8);  // MPI_2INT
  expect_bounds(*known(0x22c), 6, 0, 8, 0, 8);  // MPI_SHORT_INT: two bytes between them
  expect_bounds(*known(0x22d), 20, 0, sizeof(long_double_and_int), 0, 20);
  EXPECT_EQ(find_pair(*double_type(), *int_type()), double_int_type());
  EXPECT_EQ(find_pair(*int_type(), *double_type()), nullptr);
}

TEST(datatype_bounds, types_of_fortran_without_a_size_have_a_name_and_build_nothing) {
  const datatype* const integer = known(0x219);
  ASSERT_NE(integer, nullptr);
  EXPECT_EQ(integer->name(), "MPI_INTEGER");
  EXPECT_TRUE(integer->is_absent());
  datatype_ref out;
  EXPECT_EQ(make_contiguous(1, integer, narrow, out), error_class::type);
  EXPECT_FALSE(known(0x2d1)->is_absent()) << "MPI_INTEGER4 has its size in its handle";
}

TEST(datatype_bounds, an_extent_is_rounded_up_to_the_alignment_unless_it_was_set) {
  const datatype_ref padded = double_and_char();
  expect_bounds(*padded, 9, 0, 16, 0, 9);
  datatype_ref resized, both;
  ASSERT_EQ(make_resized(padded.get(), -4, 11, narrow, resized), success);
  expect_bounds(*resized, 9, -4, 11, 0, 9);
  const longs lengths{1, 1}, at{100, 0};
  const datatype* const types[] = {resized.get(), double_type()};
  ASSERT_EQ(make_struct(2, lengths.data(), at.data(), types, narrow, both), success);
  expect_bounds(*both, 17, 96, 11, 0, 109);  // a bound that was set counts alone
}

TEST(datatype_bounds, a_negative_stride_puts_the_lower_bound_below_zero) {
  datatype_ref type;
  ASSERT_EQ(make_vector(3, 1, -2, double_type(), narrow, type), success);
  expect_bounds(*type, 24, -32, 40, -32, 40);
  ASSERT_EQ(make_resized(type.get(), 0, -8, narrow, type), success);
  expect_bounds(*type, 24, 0, -8, -32, 40);
  ASSERT_EQ(make_contiguous(2, type.get(), narrow, type), success);
  expect_bounds(*type, 48, -8, 0, -40, 48);
}

TEST(datatype_bounds, types_without_data_have_no_bounds_but_those_that_were_set) {
  datatype_ref empty, type;
  ASSERT_EQ(make_contiguous(0, double_type(), narrow, empty), success);
  expect_bounds(*empty, 0, 0, 0, 0, 0);
  ASSERT_EQ(make_vector(5, 0, 7, double_type(), narrow, type), success);
  expect_bounds(*type, 0, 0, 0, 0, 0);
  ASSERT_EQ(make_struct(0, longs{}.data(), longs{}.data(), nullptr, narrow, type), success);
  expect_bounds(*type, 0, 0, 0, 0, 0);
  ASSERT_EQ(make_resized(empty.get(), 3, 5, narrow, type), success);
  expect_bounds(*type, 0, 3, 5, 0, 0);
  ASSERT_EQ(make_contiguous(2, type.get(), narrow, type), success);
  expect_bounds(*type, 0, 3, 10, 0, 0);
  EXPECT_TRUE(type->is_contiguous(7));
  EXPECT_EQ(type->buffer(static_cast<void*>(nullptr), 7).bytes(), 0U);
}

TEST(datatype_bounds, absolute_addresses_reach_their_bytes_from_the_bottom) {
  double first = 1.5;
  const int second[2] = {7, 8};
  const longs lengths{1, 2};
  const longs at{reinterpret_cast<std::intptr_t>(&first), reinterpret_cast<std::intptr_t>(second)};
  const datatype* const types[] = {double_type(), int_type()};
  datatype_ref type;
  ASSERT_EQ(make_struct(2, lengths.data(), at.data(), types, narrow, type), success);
  std::byte packed[16];
  ASSERT_EQ(type->pack(nullptr, 0, packed, 16), 16U);
  EXPECT_EQ(std::memcmp(packed, &first, 8), 0);
  EXPECT_EQ(std::memcmp(packed + 8, second, 8), 0);
  ASSERT_EQ(make_hindexed_block(1, 1, at.data(), double_type(), narrow, type), success);
  EXPECT_EQ(type->buffer(static_cast<void*>(nullptr), 1).address(), &first) << "contiguous, so an ordinary buffer";
}

TEST(datatype_bounds, data_that_lie_side_by_side_are_one_block_however_constructed) {
  datatype_ref type;
  ASSERT_EQ(make_vector(4, 3, 3, double_type(), narrow, type), success);
  EXPECT_TRUE(type->is_contiguous(5));
  const longs starts{0, 0}, sizes{6, 4};
  ASSERT_EQ(make_subarray(2, sizes.data(), sizes.data(), starts.data(), order_c, type.get(), narrow, type), success);
  EXPECT_TRUE(type->is_contiguous(5));
  EXPECT_EQ(type->element(), find_basic(0x214));
  ASSERT_EQ(make_struct(1, longs{2}.data(), longs{8}.data(), std::vector{double_type()}.data(), narrow, type), success);
  EXPECT_TRUE(type->is_contiguous(1));
  const double values[4] = {};
  EXPECT_EQ(type->buffer(static_cast<const void*>(values), 1).address(), values + 1);
  const datatype_ref padded = double_and_char();
  EXPECT_TRUE(padded->is_contiguous(1)) << "9 bytes";
  EXPECT_FALSE(padded->is_contiguous(2)) << "7 bytes between them";
  EXPECT_TRUE(double_type()->is_contiguous(std::numeric_limits<std::int64_t>::max() / 8));
}

TEST(datatype_bounds, regular_types_are_one_loop_however_constructed) {
  datatype_ref column, type;
  ASSERT_EQ(make_vector(100, 1, 2, double_type(), narrow, column), success);
  EXPECT_EQ(entry_count(column->map().data), 1U);
  longs at;
  for (std::int64_t i = 0; i < 100; ++i) at.push_back(2 * i);
  ASSERT_EQ(make_indexed_block(100, 1, at.data(), double_type(), narrow, type), success);
  ASSERT_EQ(type->map().data.blocks->is, node::kind::strided);
  ASSERT_EQ(make_resized(column.get(), 0, 1600, narrow, type), success);
  ASSERT_EQ(make_contiguous(10, type.get(), narrow, type), success);
  EXPECT_EQ(entry_count(type->map().data), 1U) << "1000 blocks at one stride";
  EXPECT_EQ(type->map().data.blocks->count, 1000);
}

TEST(datatype_bounds, long_irregular_lists_are_shared_not_copied) {
  longs at;
  for (std::int64_t i = 0; i < 2000; ++i) at.push_back(i * i * 2);
  datatype_ref type{*double_type()};
  for (int depth = 0; depth < 4; ++depth) {
    ASSERT_EQ(make_hindexed_block(2000, 1, at.data(), type.get(), wide, type), success);
  }
  EXPECT_EQ(type->size(), std::int64_t{8} * 2000 * 2000 * 2000 * 2000);
  EXPECT_EQ(type->map().data.blocks->parts.size(), 2000U);
  EXPECT_EQ(type->map().data.blocks->parts[0].blocks, type->map().data.blocks->parts[1999].blocks);
  datatype_ref pair;
  const longs lengths(2000, 1);
  ASSERT_EQ(make_contiguous(1, double_int_type(), wide, pair), success);
  for (int depth = 0; depth < 3; ++depth) {
    ASSERT_EQ(make_hindexed(2000, lengths.data(), at.data(), pair.get(), wide, pair), success);
  }
  const std::int64_t elements = std::int64_t{2} * 2000 * 2000 * 2000;
  EXPECT_EQ(elements_in(*pair, pair->size()), elements);
  EXPECT_EQ(elements_in(*pair, pair->size() - 4), elements - 1);
  EXPECT_EQ(bytes_of_elements(*pair, elements - 1), pair->size() - 4);
}

}  // namespace
}  // namespace weft::test
