// SPDX-License-Identifier: BSD-3-Clause
// Assertions: they can only fail by a bug of Weft's own. A wrong call of the user's is an error (weft/error.hpp) or
// misuse (base/misuse.hpp); a wrong message of a peer is refused.
#pragma once

namespace weft::base {

/// Ends the process with a line that says where.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace weft::base

/// Checked in all builds: for places where it costs nothing that can be measured.
#define WEFT_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::weft::base::assertion_failed(#condition, __FILE__, __LINE__))

/// Checked in debug builds and under sanitizers; elsewhere the condition is not evaluated.
#ifdef WEFT_CHECKED
#define WEFT_ASSERT_CHECKED(condition) WEFT_ASSERT(condition)
#else
#define WEFT_ASSERT_CHECKED(condition) static_cast<void>(sizeof(!(condition)))
#endif
