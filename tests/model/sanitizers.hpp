// SPDX-License-Identifier: BSD-3-Clause
// Which sanitizer this is compiled for: contexts must be announced to one, the other can't follow them at all.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_MODEL_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define WEFT_MODEL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_MODEL_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define WEFT_MODEL_THREAD_SANITIZER 1
#endif
#endif

namespace weft::model {

#if defined(WEFT_MODEL_ADDRESS_SANITIZER)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif

#if defined(WEFT_MODEL_THREAD_SANITIZER)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

}  // namespace weft::model
