// SPDX-License-Identifier: BSD-3-Clause
// Announces an order that arises outside this process to ThreadSanitizer, which sees this process alone.
//
// A thread that sends a request to another process is ordered before the thread that receives the answer, however many
// processes are between them: each passes the order on by release and acquire. ThreadSanitizer sees none of that and
// would report a race, here and in programs that use the library. The announced order is coarse: each send is before
// all later receives. Costs nothing in other builds.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define WEFT_TELLS_OUTSIDE_ORDER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TELLS_OUTSIDE_ORDER 1
#endif
#endif

#ifdef WEFT_TELLS_OUTSIDE_ORDER
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::base {

#ifdef WEFT_TELLS_OUTSIDE_ORDER
inline char outside_world;

/// Before a message goes out.
inline void goes_out() noexcept { __tsan_release(&outside_world); }
/// After a message of another process has come in.
inline void came_in() noexcept { __tsan_acquire(&outside_world); }
#else
inline void goes_out() noexcept {}
inline void came_in() noexcept {}
#endif

}  // namespace weft::base
