// SPDX-License-Identifier: BSD-3-Clause
// The sanitizer that this is compiled with, which GCC and Clang say differently.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define WEFT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define WEFT_THREAD_SANITIZER 1
#endif
#endif

namespace weft::base {

#if defined(WEFT_ADDRESS_SANITIZER)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif

#if defined(WEFT_THREAD_SANITIZER)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

inline constexpr bool under_sanitizer = under_address_sanitizer || under_thread_sanitizer;

}  // namespace weft::base
