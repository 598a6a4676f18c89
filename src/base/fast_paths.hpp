// SPDX-License-Identifier: BSD-3-Clause
// Whether common cases take their fast paths (CMake option WEFT_FAST). Each has a general twin, which does the same and
// passes the same tests alone.
#pragma once

namespace weft::base {

#ifdef WEFT_GENERAL_WAYS_ONLY
inline constexpr bool has_fast_paths = false;
#else
inline constexpr bool has_fast_paths = true;
#endif

}  // namespace weft::base
