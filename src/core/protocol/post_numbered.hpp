// Numbered posts: sends to an ordered engine, and receives in a receiver-first one.
#pragma once

#include <cstdint>

#include "base/backoff.hpp"
#include "core/matching/ordered_numbers.hpp"
#include "core/protocol/post_message.hpp"

namespace weft::core {

/// Tries to get the next number or a lock, for posts that may not answer retry: some seconds.
inline constexpr unsigned number_tries_max = 10'000;

/// Calls `post` with the next number for `request.peer` and returns its answer; retry does not use the number up.
/// `operations`: the size of the set from which `post` takes an operation, for the error. **Errors**: `backlog_full` if
/// another thread holds the number and the post may not answer retry; errors of `post`.
template <class Request, class Post>
status post_numbered(ordered_numbers& numbers, const Request& request, operation opcode, std::uint32_t operations,
                     const Post& post) {
  std::uint32_t number = 0;
  base::backoff waiting;
  for (unsigned tries = 0; !numbers.try_begin(request.peer, number); ++tries) {
    if (request.allow_retry) return status::retry(shortage::lock);
    // A thread holds the number for one post only; unless it is this thread, in a handler that its own post runs.
    if (tries == number_tries_max) throw_backlog_full(opcode, request.peer, operations);
    waiting.pause();
  }
  try {
    const status result = post(number);
    numbers.end(request.peer, number, !result.is_retry());
    return result;
  } catch (...) {
    numbers.end(request.peer, number, false);
    throw;
  }
}

}  // namespace weft::core
