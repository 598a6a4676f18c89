// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments: the class of the error, and nothing made.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "mpi/datatype/contents.hpp"
#include "mpi/datatype/known_types.hpp"
#include "mpi/datatype/packed_buffer.hpp"

namespace weft::test {
namespace {

using namespace mpi;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

TEST(datatype_errors, counts_lengths_and_types_are_checked_in_every_constructor) {
  datatype_ref out;
  const longs one{1}, below{-1}, at{0};
  const number_list none{static_cast<const int*>(nullptr)}, lengths{one.data()}, wrong{below.data()}, zero{at.data()};
  const datatype* const type = int_type();
  EXPECT_EQ(make_dup(nullptr, out), error_class::type);
  EXPECT_EQ(make_contiguous(-1, type, narrow, out), error_class::count);
  EXPECT_EQ(make_contiguous(1, nullptr, narrow, out), error_class::type);
  EXPECT_EQ(make_vector(-1, 1, 1, type, narrow, out), error_class::count);
  EXPECT_EQ(make_vector(1, -1, 1, type, narrow, out), error_class::argument);
  EXPECT_EQ(make_vector(1, 1, 1, nullptr, narrow, out), error_class::type);
  EXPECT_EQ(make_hvector(-1, 1, 1, type, narrow, out), error_class::count);
  EXPECT_EQ(make_hvector(1, -1, 1, type, narrow, out), error_class::argument);
  EXPECT_EQ(make_hvector(1, 1, 1, nullptr, narrow, out), error_class::type);
  for (const auto make : {make_indexed, make_hindexed}) {
    EXPECT_EQ(make(-1, lengths, zero, type, narrow, out), error_class::count);
    EXPECT_EQ(make(1, wrong, zero, type, narrow, out), error_class::argument);
    EXPECT_EQ(make(1, none, zero, type, narrow, out), error_class::argument);
    EXPECT_EQ(make(1, lengths, none, type, narrow, out), error_class::argument);
    EXPECT_EQ(make(1, lengths, zero, nullptr, narrow, out), error_class::type);
  }
  for (const auto make : {make_indexed_block, make_hindexed_block}) {
    EXPECT_EQ(make(-1, 1, zero, type, narrow, out), error_class::count);
    EXPECT_EQ(make(1, -1, zero, type, narrow, out), error_class::argument);
    EXPECT_EQ(make(1, 1, none, type, narrow, out), error_class::argument);
    EXPECT_EQ(make(1, 1, zero, nullptr, narrow, out), error_class::type);
  }
  EXPECT_EQ(make_struct(-1, lengths, zero, &type, narrow, out), error_class::count);
  EXPECT_EQ(make_struct(1, wrong, zero, &type, narrow, out), error_class::argument);
  EXPECT_EQ(make_struct(1, lengths, zero, nullptr, narrow, out), error_class::argument);
  const datatype* const null_type = nullptr;
  EXPECT_EQ(make_struct(1, lengths, zero, &null_type, narrow, out), error_class::type);
  EXPECT_EQ(make_resized(nullptr, 0, 1, narrow, out), error_class::type);
  EXPECT_FALSE(out);
}

TEST(datatype_errors, arrays_must_fit_in_their_dimensions_and_their_grid) {
  datatype_ref out;
  const longs sizes{4, 5}, subsizes{2, 5}, starts{2, 0}, far{3, 0}, zero{0, 0};
  const datatype* const type = int_type();
  const auto subarray = [&](int dimensions, const longs& of, const longs& part, const longs& from, int order) {
    return make_subarray(dimensions, of.data(), part.data(), from.data(), order, type, narrow, out);
  };
  EXPECT_EQ(subarray(2, sizes, subsizes, starts, order_c), success);
  EXPECT_EQ(subarray(0, sizes, subsizes, starts, order_c), error_class::dims);
  EXPECT_EQ(subarray(2, sizes, subsizes, starts, 5), error_class::argument);
  EXPECT_EQ(subarray(2, sizes, subsizes, far, order_c), error_class::argument);
  EXPECT_EQ(subarray(2, sizes, zero, starts, order_c), error_class::argument);
  EXPECT_EQ(subarray(2, zero, zero, zero, order_c), error_class::argument);
  const int blocks[] = {distribute_block, distribute_cyclic}, none[] = {distribute_none, distribute_none};
  const int usual[] = {distribute_default, distribute_default}, short_blocks[] = {1, 1}, negative[] = {-2, 1};
  const int grid[] = {2, 3};
  const auto darray = [&](int ranks, int rank, const int* distributions, const int* arguments) {
    return make_darray({ranks, rank, 2, sizes.data(), distributions, arguments, grid, order_c}, type, narrow, out);
  };
  EXPECT_EQ(darray(6, 5, blocks, usual), success);
  EXPECT_EQ(darray(6, 6, blocks, usual), error_class::argument);
  EXPECT_EQ(darray(6, -1, blocks, usual), error_class::argument);
  EXPECT_EQ(darray(5, 0, blocks, usual), error_class::argument) << "the grid has 6";
  EXPECT_EQ(darray(6, 0, none, usual), error_class::argument)
      << "more than one rank in a dimension that is not divided";
  EXPECT_EQ(darray(6, 0, blocks, short_blocks), error_class::argument) << "2 blocks of 1 do not hold 4";
  EXPECT_EQ(darray(6, 0, blocks, negative), error_class::argument);
  EXPECT_EQ(darray(6, 0, usual, usual), error_class::argument) << "no distribution";
}

TEST(datatype_errors, sizes_and_bounds_that_do_not_fit_in_64_bits_are_refused) {
  datatype_ref big, out;
  ASSERT_EQ(make_contiguous(most / 16, double_type(), wide, big), success);
  EXPECT_EQ(make_contiguous(most / 4, double_type(), wide, out), error_class::value_too_large);
  EXPECT_EQ(make_contiguous(3, big.get(), wide, out), error_class::value_too_large);
  EXPECT_EQ(make_vector(2, 1, most / 2, double_type(), wide, out), error_class::value_too_large);
  EXPECT_EQ(make_hvector(3, 1, most / 2, double_type(), wide, out), error_class::value_too_large);
  EXPECT_EQ(make_hvector(3, 1, -most, double_type(), wide, out), error_class::value_too_large);
  EXPECT_EQ(make_resized(double_type(), most, 1, wide, out), error_class::value_too_large);
  const longs lengths{1, 1}, far{-most, most}, high{most, 0};
  EXPECT_EQ(make_hindexed(2, lengths.data(), far.data(), int_type(), wide, out), error_class::value_too_large);
  EXPECT_EQ(make_hindexed(1, lengths.data(), high.data(), int_type(), wide, out), error_class::value_too_large);
  EXPECT_EQ(make_indexed(1, lengths.data(), high.data(), int_type(), wide, out), error_class::value_too_large);
  const longs sizes{most / 4, most / 4}, ones{1, 1}, zeros{0, 0};
  EXPECT_EQ(make_subarray(2, sizes.data(), ones.data(), zeros.data(), order_c, int_type(), wide, out),
            error_class::value_too_large);
  EXPECT_FALSE(out);
  std::int64_t bytes = 0;
  EXPECT_FALSE(double_type()->try_bytes_of(most / 4, bytes));
  EXPECT_FALSE(double_type()->try_bytes_of(-1, bytes));
  EXPECT_EQ(packed_bytes_of(*double_type(), most / 4, packing::native, bytes), error_class::value_too_large);
}

TEST(datatype_errors, counts_beyond_32_bits_reach_every_byte) {
  double value = 3.25;
  datatype_ref type;
  const std::int64_t count = std::int64_t{1} << 40;
  ASSERT_EQ(make_hvector(count, 1, 0, double_type(), wide, type), success);  // one double, again and again
  EXPECT_EQ(type->size(), count * 8);
  EXPECT_EQ(type->true_extent(), 8);
  std::byte part[11];
  const std::uint64_t offset = (std::uint64_t{1} << 42) + 8 - 3;
  ASSERT_EQ(type->pack(&value, offset, part, 11), 11U);
  EXPECT_EQ(std::memcmp(part + 3, &value, 8), 0);
  EXPECT_EQ(std::memcmp(part, reinterpret_cast<std::byte*>(&value) + 5, 3), 0);
}

}  // namespace
}  // namespace weft::test
