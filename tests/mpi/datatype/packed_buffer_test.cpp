// SPDX-License-Identifier: BSD-3-Clause
// Packing with positions, natively and as external32; messages whose bytes lie as types say.
#include "mpi/datatype/packed_buffer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "mpi/datatype/elements.hpp"
#include "mpi/datatype/known_types.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

using namespace mpi;

TEST(packing, moves_the_position_and_refuses_bytes_that_are_too_short) {
  const double values[] = {1, 2, 3, 4};
  double got[4] = {};
  datatype_ref column;
  ASSERT_EQ(make_vector(2, 1, 2, double_type(), narrow, column), success);
  std::byte packed[20];
  std::int64_t position = 0, bytes = 0;
  ASSERT_EQ(packed_bytes_of(*column, 1, packing::native, bytes), success);
  EXPECT_EQ(bytes, 16);
  ASSERT_EQ(pack(*int_type(), &position, 1, packing::native, packed, 20, position), success);
  ASSERT_EQ(pack(*column, values, 1, packing::native, packed, 20, position), success);
  EXPECT_EQ(position, 20);
  EXPECT_EQ(pack(*char_type(), values, 1, packing::native, packed, 20, position), error_class::truncate);
  EXPECT_EQ(position, 20);
  position = 4;
  ASSERT_EQ(unpack(*column, got, 1, packing::native, packed, 20, position), success);
  EXPECT_EQ(position, 20);
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 0);
  EXPECT_EQ(got[2], 3);
  position = 5;
  EXPECT_EQ(unpack(*column, got, 1, packing::native, packed, 20, position), error_class::truncate);
  position = 21;
  EXPECT_EQ(unpack(*column, got, 0, packing::native, packed, 20, position), error_class::argument);
  EXPECT_EQ(unpack(*column, got, -1, packing::native, packed, 20, position), error_class::count);
}

TEST(external32, has_the_sizes_and_the_byte_order_of_the_standard) {
  EXPECT_EQ(external_bytes_of(*known(0x20a)), 4) << "MPI_LONG";
  EXPECT_EQ(external_bytes_of(*known(0x23c)), 2) << "MPI_WCHAR";
  EXPECT_EQ(external_bytes_of(*known(0x220)), 16) << "MPI_LONG_DOUBLE";
  EXPECT_EQ(external_bytes_of(*double_int_type()), 12);
  struct {
    double value;
    char letter;
  } const memory{-2.0, 'x'};
  const datatype_ref type = double_and_char();
  std::array<unsigned char, 9> packed{};
  std::int64_t position = 0;
  ASSERT_EQ(pack(*type, &memory, 1, packing::external32, packed.data(), 9, position), success);
  EXPECT_EQ(packed, (std::array<unsigned char, 9>{0xc0, 0, 0, 0, 0, 0, 0, 0, 'x'}));
  const long number = -3;
  position = 0;
  ASSERT_EQ(pack(*known(0x20a), &number, 1, packing::external32, packed.data(), 9, position), success);
  EXPECT_EQ(position, 4);
  EXPECT_EQ(packed[0], 0xff);
  EXPECT_EQ(packed[3], 0xfd);
}

template <class Number>
void expect_return_trip(std::uint32_t handle, const std::vector<Number>& numbers) {
  const datatype& type = *known(handle);
  const auto count = std::ssize(numbers);
  std::vector<std::byte> packed(numbers.size() * static_cast<std::size_t>(*external_bytes_of(type)));
  std::vector<Number> got(numbers.size());
  std::int64_t position = 0;
  ASSERT_EQ(pack(type, numbers.data(), count, packing::external32, packed.data(), std::ssize(packed), position),
            success);
  position = 0;
  ASSERT_EQ(unpack(type, got.data(), count, packing::external32, packed.data(), std::ssize(packed), position), success);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(got[i] == numbers[i] || (got[i] != got[i] && numbers[i] != numbers[i])) << type.name() << ' ' << i;
  }
}

TEST(external32, gives_numbers_back) {
  expect_return_trip<int>(0x209, {0, 1, -1, std::numeric_limits<int>::min()});
  expect_return_trip<long>(0x20a, {0, 7, -7, std::numeric_limits<std::int32_t>::min()});
  expect_return_trip<unsigned long>(0x20e, {0, std::numeric_limits<std::uint32_t>::max()});
  expect_return_trip<unsigned char>(0x238, {0, 1});
  using limits = std::numeric_limits<long double>;
  expect_return_trip<long double>(
      0x220, {0.0L, -0.0L, 1.0L, -1.5L, 0.1L, limits::max(), limits::min(), limits::denorm_min(), limits::infinity(),
              -limits::infinity(), limits::quiet_NaN(), limits::min() / 3});
}

TEST(external32, takes_every_byte_but_0_for_true) {
  const unsigned char packed[] = {0, 1, 0x80};
  unsigned char got[] = {9, 9, 9};
  std::int64_t position = 0;
  ASSERT_EQ(unpack(*known(0x238), got, 3, packing::external32, packed, 3, position), success);
  EXPECT_EQ(got[0], 0);
  EXPECT_EQ(got[1], 1);
  EXPECT_EQ(got[2], 1);
}

// 1 as a quad, 1 + 2^-64 and 1 + 2^-64 + 2^-112: between two numbers of x87, and above the middle.
TEST(external32, rounds_long_doubles_that_have_more_bits) {
  if constexpr (std::numeric_limits<long double>::digits == 64) {
    std::array<unsigned char, 16> quad{0x3f, 0xff};
    long double got = 0;
    const auto read = [&] {
      std::int64_t position = 0;
      ASSERT_EQ(unpack(*known(0x220), &got, 1, packing::external32, quad.data(), 16, position), success);
    };
    read();
    EXPECT_EQ(got, 1.0L);
    quad[9] = 0x01;  // bit 48 of the fraction of 112: half of the last bit of x87's
    read();
    EXPECT_EQ(got, 1.0L) << "to even";
    quad[15] = 1;
    read();
    EXPECT_EQ(got, 1.0L + std::numeric_limits<long double>::epsilon());
    std::fill(quad.begin() + 2, quad.end(), std::uint8_t{0xff});
    read();
    EXPECT_EQ(got, 2.0L) << "the carry goes into the exponent";
  }
}

// Elements of different types at the two ends, with the same basic types.
TEST(datatype_messages, travel_from_one_layout_into_another) {
  datatype_ref column, row;
  ASSERT_EQ(make_vector(3, 1, 2, double_type(), narrow, column), success);
  ASSERT_EQ(make_resized(column.get(), 0, 56, narrow, column), success);
  const longs at{5, 0, 2};
  ASSERT_EQ(make_indexed_block(3, 1, at.data(), double_type(), narrow, row), success);
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{4}, std::int64_t{1000}, std::int64_t{20'000}}) {
    local_job{1}.run([&](runtime& rt) {
      device& dev = rt.default_device();
      std::vector<double> from(static_cast<std::size_t>(7 * count)), into(static_cast<std::size_t>(6 * count), -1);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i);
      counter done{rt};
      const auto bytes = static_cast<std::size_t>(24 * count);
      const buffer_ref target = row->buffer(into.data(), count);
      const const_buffer_ref source = column->buffer(static_cast<const void*>(from.data()), count);
      ASSERT_EQ(source.bytes(), bytes);
      ASSERT_TRUE(dev.post_recv(0, target, done, {.allow_retry = false}).is_posted());
      ASSERT_TRUE(dev.post_send(0, source, done, {.allow_done = false, .allow_retry = false}).is_posted());
      while (done.value() < 2) dev.progress();
      for (std::int64_t i = 0; i < 3 * count; ++i) {
        const auto element = static_cast<std::size_t>(i / 3), part = static_cast<std::size_t>(i % 3);
        ASSERT_EQ(into[6 * element + static_cast<std::size_t>(at[part])], from[7 * element + 2 * part]) << i;
      }
      EXPECT_EQ(into[1], -1) << "a byte that no block has";
    });
  }
}

}  // namespace
}  // namespace weft::test
