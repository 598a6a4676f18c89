// SPDX-License-Identifier: BSD-3-Clause
// Announces an order that arises outside this process to ThreadSanitizer, which sees this process alone.
//
// A thread that sends a request to another process is ordered before the thread that receives the answer, however many
// processes are between them: each passes the order on by release and acquire. ThreadSanitizer sees none of that and
// would report a race, here and in programs that use the library. The announced order is coarse: each send is before
// all later receives. Costs nothing in other builds.
#pragma once

#include "base/sanitizer.hpp"

#ifdef WEFT_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::base {

#ifdef WEFT_THREAD_SANITIZER
inline char outside_world;

/// Called before a message goes out.
inline void goes_out() noexcept { __tsan_release(&outside_world); }
/// Called after a message of another process has come in.
inline void came_in() noexcept { __tsan_acquire(&outside_world); }
#else
inline void goes_out() noexcept {}
inline void came_in() noexcept {}
#endif

}  // namespace weft::base
