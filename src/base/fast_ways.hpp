// Whether the short ways of common cases are taken (CMake option WEFT_FAST). Each has a general twin, which does the
// same and passes the same tests without it.
#pragma once

namespace weft::base {

#ifdef WEFT_GENERAL_WAYS_ONLY
inline constexpr bool has_fast_ways = false;
#else
inline constexpr bool has_fast_ways = true;
#endif

}  // namespace weft::base
