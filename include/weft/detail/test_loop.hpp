// SPDX-License-Identifier: BSD-3-Clause
// Tests that find nothing, one after another: the looks of one wait, whose loop is the program's.
#pragma once

#include <cstdint>

namespace weft::detail {

/// Belongs to a thread. A test that finds nothing subtracts one from `left`. If `left` is negative then, the test calls
/// `rest_between_tests` (weft/device.hpp), which makes the next step of the wait and sets `left` again. A call that
/// ends the wait sets `left` to `ended`.
struct test_loop {
  static constexpr std::int32_t ended = -1;

  [[nodiscard]] bool is_first() const noexcept { return left < ended; }  // asked by `rest_between_tests`

  std::int32_t left = ended;  // tests before that of the next step
  std::uint32_t looks = 0;    // looks up to the next step of the wait
  std::uint32_t yields = 0;   // yields of the wait
  std::uint32_t due = 0;      // the next yield is due after so many looks
};

}  // namespace weft::detail
