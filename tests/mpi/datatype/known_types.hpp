// SPDX-License-Identifier: BSD-3-Clause
// Predefined types by their names, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "mpi/datatype/construct.hpp"
#include "mpi/datatype/datatype.hpp"

namespace weft::test {

inline const mpi::datatype* known(std::uint32_t handle) { return mpi::find_predefined(handle); }
inline const mpi::datatype* char_type() { return known(0x243); }
inline const mpi::datatype* int_type() { return known(0x209); }
inline const mpi::datatype* double_type() { return known(0x214); }
inline const mpi::datatype* double_int_type() { return known(0x229); }

using longs = std::vector<std::int64_t>;
inline constexpr auto narrow = mpi::width::narrow, wide = mpi::width::wide;
inline constexpr auto success = mpi::error_class::success;

/// {double, char}, whose extent is rounded up to 16.
inline mpi::datatype_ref double_and_char() {
  mpi::datatype_ref out;
  const longs lengths{1, 1}, at{0, 8};
  const mpi::datatype* const types[] = {double_type(), char_type()};
  EXPECT_EQ(mpi::make_struct(2, lengths.data(), at.data(), types, narrow, out), success);
  return out;
}

}  // namespace weft::test
