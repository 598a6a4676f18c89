// SPDX-License-Identifier: BSD-3-Clause
// What happens to a continuation all of whose requests have ended.
#pragma once

#include "mpi/objects/continuation.hpp"

namespace weft::mpi {

/// Completes its requests, calls its function, and releases it. An exception of the function ends the job with a line;
/// errors go to the continuation request, or to error handlers. **Threads**: one, inside a `callback_scope` or a hook,
/// without a lock of the library.
void run_continuation(continuation& ready) noexcept;
/// The end of the rank: releases one that no request will end any more, and its requests that are complete.
void drop_continuation(continuation& dropped) noexcept;

}  // namespace weft::mpi
