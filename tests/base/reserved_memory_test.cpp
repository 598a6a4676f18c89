// SPDX-License-Identifier: BSD-3-Clause
// Memory that grows where it lies: what was there stays, the new part is zero, and where nothing can be had nothing
// changes.
#include "base/reserved_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <new>

#include "support/random_seed.hpp"

namespace {

using weft::base::reserved_memory;

constexpr std::size_t unit = std::size_t{64} << 10;

bool is_all(const std::byte* begin, std::size_t bytes, std::byte value) {
  return std::all_of(begin, begin + bytes, [=](std::byte each) { return each == value; });
}

TEST(reserved_memory, grows_where_it_lies) {
  reserved_memory memory{unit, 8 * unit};
  auto* const begin = static_cast<std::byte*>(memory.begin());
  EXPECT_TRUE(is_all(begin, unit, std::byte{0}));
  std::fill_n(begin, unit, std::byte{7});
  ASSERT_TRUE(memory.try_grow(8 * unit));
  EXPECT_EQ(memory.begin(), begin);
  EXPECT_TRUE(is_all(begin, unit, std::byte{7}));
  EXPECT_TRUE(is_all(begin + unit, 7 * unit, std::byte{0}));
  EXPECT_TRUE(memory.try_grow(unit)) << "is there already";
}

TEST(reserved_memory, does_not_grow_beyond_its_address_space) {
  reserved_memory memory{unit, 2 * unit};
  EXPECT_FALSE(memory.try_grow(4 * unit));
  EXPECT_TRUE(memory.try_grow(2 * unit));
}

TEST(reserved_memory, reserves_less_where_there_is_less) {
  const reserved_memory memory{unit, ~std::size_t{0} / 2};
  EXPECT_TRUE(is_all(static_cast<std::byte*>(memory.begin()), unit, std::byte{0}));
  EXPECT_THROW(reserved_memory(std::size_t{1} << 60, std::size_t{1} << 60), std::bad_alloc);
}

TEST(reserved_memory, stays_as_it_is_where_there_is_no_memory) {
  if (weft::test::under_sanitizer) GTEST_SKIP() << "a sanitizer needs memory of its own";
  reserved_memory memory{unit, 4 * unit};
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit none{4096, before.rlim_max};  // the kernel takes 0 for no limit
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &none), 0);
  const bool has_grown = memory.try_grow(4 * unit);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_FALSE(has_grown);
  EXPECT_TRUE(memory.try_grow(4 * unit));
}

}  // namespace
